"""cupyx for programs that run on the CPU machine: what few of its functions need no GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit.cupy.arrays import device, host
from gpukit.cupyx import profiler


def empty_pinned(shape: Any, dtype: Any = float, order: Any = "C") -> np.ndarray:
    """A host array in page-locked memory (ordinary memory here)."""
    return np.empty(shape, dtype, order)


def zeros_pinned(shape: Any, dtype: Any = float, order: Any = "C") -> np.ndarray:
    return np.zeros(shape, dtype, order)


def rsqrt(x: Any) -> Any:
    return device(1 / np.sqrt(host(x)))


def scatter_add(a: Any, slices: Any, value: Any) -> None:
    """a[slices] += value, for indices that occur several times too."""
    np.add.at(host(a), host(slices), host(value))


__all__ = ["empty_pinned", "profiler", "rsqrt", "scatter_add", "zeros_pinned"]
