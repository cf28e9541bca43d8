"""Launches of the C++ kernels in this folder, each with its inputs and what it must leave behind.

A topic is a `.cu` file and a `.py` file of the same name. `expected(*args)` gets the arguments as they are before the
launch and gives the right contents afterwards by position: an array, to be met bit by bit, or `Near`, with the largest
error that the order of a sum or the accuracy of a function allows. Only NumPy is needed, so a program on a GPU can use
the same table (data/probes/compiled_kernels.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
LADDER = HERE.parents[2] / "gpukit" / "kernels" / "cpp" / "reduction.cu"

Shape = int | tuple[int, ...]


@dataclass(frozen=True)
class Near:
    """A result within `bound` (absolute, broadcast) of `value`."""

    value: np.ndarray
    bound: Any


@dataclass(frozen=True)
class Launch:
    """One launch. `args` makes its arguments afresh: arrays, and NumPy scalars for what is passed by value.

    exact       equal bit by bit wherever it runs: no approximate function, no order of atomics shows
    polls       a loop waits for other blocks, so hardware makes a number of loads that nobody can foretell
    hazard      the kind that must be reported (a mistake that leaves the result right)
    """

    name: str
    file: Path
    kernel: str
    grid: Shape
    block: Shape
    args: Callable[[], tuple]
    expected: Callable[..., dict[int, Any]]
    shared_bytes: int = 0
    options: tuple[str, ...] = ()
    cooperative: bool = False
    polls: bool = False
    hazard: str | None = None
    exact: bool = True


LAUNCHES: dict[str, Launch] = {}


def launched(
    file: str | Path,
    kernel: str,
    grid: Shape,
    block: Shape,
    args: Callable[[], tuple],
    expected: Callable[..., dict[int, Any]],
    *,
    name: str = "",
    **more: Any,
) -> None:
    """Enter one launch; `file` is that of this folder without its ending, `name` that of the kernel if not given."""
    path = file if isinstance(file, Path) else HERE / f"{file}.cu"
    launch = Launch(name or kernel, path, kernel, grid, block, args, expected, **more)
    assert launch.name not in LAUNCHES
    LAUNCHES[launch.name] = launch


# --- inputs ----------------------------------------------------------------------------------------------------------


def floats(*shape: int, low: float = 0.0, high: float = 1.0, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    """Random floats between `low` and `high`, the same at every call."""
    return (low + (high - low) * np.random.default_rng(seed).random(shape)).astype(dtype)


def integers(*shape: int, low: int = 0, high: int = 100, seed: int = 1, dtype: Any = np.int32) -> np.ndarray:
    """Random whole numbers from `low` to `high` - 1, the same at every call."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def zeros(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Room for a result."""
    return np.zeros(shape, dtype)


def i32(value: int) -> np.int32:
    """An `int` argument."""
    return np.int32(value)


# --- references ------------------------------------------------------------------------------------------------------


def halving(values: np.ndarray) -> np.ndarray:
    """Sums along the last axis (a power of two long) in the order of a tree: the upper half is added to the lower."""
    while values.shape[-1] > 1:
        half = values.shape[-1] // 2
        values = values[..., :half] + values[..., half:]
    return values[..., 0]


def blocks_of(values: np.ndarray, size: int) -> np.ndarray:
    """Rows of `size` values, the last one filled with zeros."""
    rows = -(-values.size // size)
    return np.pad(values, (0, rows * size - values.size)).reshape(rows, size)


def sum_bound(terms: np.ndarray, axis: int = -1, dtype: Any = np.float32) -> np.ndarray:
    """Largest error of a sum of `terms` in any order, fused or not: each of n additions and products rounds once."""
    n = terms.shape[axis]
    return (n + 1) * float(np.finfo(dtype).eps) * np.abs(terms.astype(np.float64)).sum(axis)


def fma(a: Any, b: Any, c: Any) -> np.ndarray:
    """a * b + c of float32 values, rounded once.

    The product is exact in float64. The sum is rounded to odd there (an inexact one gets an odd last bit), after which
    rounding to float32 is right.
    """
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    addend = np.asarray(c, np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    odd = np.nextafter(total, np.copysign(np.inf, error))
    inexact_even = (error != 0) & (total.view(np.int64) % 2 == 0)
    return np.where(inexact_even, odd, total).astype(np.float32)


def ulps(values: np.ndarray, many: float, dtype: Any = np.float32) -> np.ndarray:
    """`many` units in the last place of `values`."""
    return many * np.spacing(np.abs(np.asarray(values, np.float64)).astype(dtype)).astype(np.float64)


def bfloat_bits(values: np.ndarray) -> np.ndarray:
    """float32 values as bfloat16, to the nearest, ties to even, as their bits (uint16). No NaN."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def bfloat_values(bits: np.ndarray) -> np.ndarray:
    """bfloat16 bits as float32."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)
