"""cupy.cuda.profiler: `gpukit profile script.py` profiles every launch, so there is nothing to start or stop."""

from __future__ import annotations


def start() -> None:
    """Nothing."""


def stop() -> None:
    """Nothing."""
