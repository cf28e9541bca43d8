"""cupy.cuda.nvtx: marks for a profiler that is not there."""

from __future__ import annotations


def RangePush(message: str, id_color: int = -1) -> None:
    """Nothing."""


RangePushC = Mark = MarkC = RangePush


def RangePop() -> None:
    """Nothing."""
