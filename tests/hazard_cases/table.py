"""Kernels as people write them, wrong and right: the mistake is reported under its name, the cure comes out clean.

Every kernel with a mistake stands next to one that does the same job without it. `wrong` names the kinds that must be
reported (and `also`, those that may be); nothing else of weight may be. `clean` allows no error, no warning and no
doubt about the numbers, compares the arrays with NumPy's result, and with `fast` allows no finding about speed either.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import float32, int32

DOUBTS = {"nan_propagation", "precision_loss", "unwritten_output"}
SPEED = {"uncoalesced", "bank_conflicts", "divergence", "low_lane_utilisation", "load_imbalance"}

Result = Callable[..., dict[int, Any]]  # the arguments before the launch -> right values, by position


@dataclass(frozen=True)
class Case:
    """One launch. `args` makes its arguments afresh."""

    kernel: Callable
    grid: Any
    block: Any
    args: Callable[[], tuple]
    kinds: frozenset[str]
    also: frozenset[str]
    quiet: frozenset[str]
    result: Result | None
    shared_bytes: int


CASES: list[Case] = []


def wrong(grid, block, args, *kinds: str, also: tuple[str, ...] = (), result: Result | None = None, shared_bytes=0):
    """A kernel with a mistake of these kinds."""

    def register(kernel: Callable) -> Callable:
        quiet = frozenset(DOUBTS - {"unwritten_output"})
        CASES.append(Case(kernel, grid, block, args, frozenset(kinds), frozenset(also), quiet, result, shared_bytes))
        return kernel

    return register


def clean(grid, block, args, *, result: Result | None = None, shared_bytes=0, fast=False):
    """A kernel without a mistake."""

    def register(kernel: Callable) -> Callable:
        quiet = frozenset(DOUBTS | SPEED if fast else DOUBTS)
        CASES.append(Case(kernel, grid, block, args, frozenset(), frozenset(), quiet, result, shared_bytes))
        return kernel

    return register


def floats(*shape: int) -> np.ndarray:
    """float32 zeros."""
    return np.zeros(shape, float32)


def ints(*shape: int) -> np.ndarray:
    """int32 zeros."""
    return np.zeros(shape, int32)


def ramp(n: int, dtype: type = int32) -> np.ndarray:
    """0, 1, 2 ..."""
    return np.arange(n, dtype=dtype)


def random(*shape: int) -> np.ndarray:
    """float32 in [0, 1), the same at every call."""
    return np.random.default_rng(0).random(shape).astype(float32)


def draw(high: int, n: int) -> np.ndarray:
    """n int32 in [0, high), the same at every call."""
    return np.random.default_rng(1).integers(0, high, n).astype(int32)
