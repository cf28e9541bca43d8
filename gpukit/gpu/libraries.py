"""CuPy and numba-cuda themselves, inside `stand_in` too; they are imported when a GPU is first used."""

from __future__ import annotations

import importlib
from typing import Any

from gpukit.standin import real_numba_cuda


def cupy() -> Any:
    """CuPy. Call only where `gpukit.gpu.missing()` is ""."""
    with real_numba_cuda():
        return importlib.import_module("cupy")


def numba_cuda() -> Any:
    """numba.cuda. Call only where `gpukit.gpu.missing()` is ""."""
    with real_numba_cuda():
        return importlib.import_module("numba.cuda")
