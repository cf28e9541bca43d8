"""CuPy and numba-cuda themselves, inside `stand_in` too; they are imported when a GPU is first used."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from gpukit.standin import real_numba_cuda


def cupy() -> Any:
    """CuPy. Raises what importing it raises; where `gpukit.gpu.missing()` is "", nothing."""
    return _load("cupy")


def numba_cuda() -> Any:
    """numba.cuda. Raises as `cupy`."""
    return _load("numba.cuda")


def _load(name: str) -> Any:
    with real_numba_cuda(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what they use themselves
        return importlib.import_module(name)
