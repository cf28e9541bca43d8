"""What NumPy's and CuPy's arrays have in common, and what formats are made of on both."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray on the host, cupy.ndarray on a GPU


def xp_of(array: Array) -> ModuleType:
    """The module that made an array: numpy or cupy."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def to_host(array: Array) -> np.ndarray:
    """The array as NumPy's; of a GPU, a copy."""
    return array if isinstance(array, np.ndarray) else array.get()


def stable_order(key: Array) -> Array:
    """The places of a 1-D array in ascending order, equal ones in the order they have."""
    return key.argsort(kind="stable") if isinstance(key, np.ndarray) else key.argsort()  # CuPy's is always stable


def starts_of(sizes: Array) -> Array:
    """(n + 1,) int64: where each of n pieces of these sizes begins, and the end."""
    xp = xp_of(sizes)
    starts = xp.zeros(sizes.size + 1, np.int64)
    xp.cumsum(sizes, out=starts[1:])
    return starts


def owners_of(starts: Array, count: int) -> Array:
    """(count,) int64: in which of the intervals that begin at `starts` each number below `count` lies."""
    xp = xp_of(starts)
    return xp.searchsorted(xp.ascontiguousarray(starts), xp.arange(count), side="right") - 1
