"""Cooperative groups."""

import numpy as np
from compiled.kernels.table import floats, i32, integers, launched, zeros

launched(
    "cooperative",
    "tiles",
    3,
    64,
    lambda: (integers(192, low=-99), zeros(24, dtype=np.int32), zeros(12, dtype=np.int32)),
    lambda x, sums, largest: {1: x.reshape(-1, 8).sum(1), 2: x.reshape(-1, 16).max(1)},
)


def taken(x: np.ndarray, count: np.ndarray, slots: np.ndarray, n: np.int32) -> dict:
    """As many slots from the front as there are multiples of three."""
    many = int((x % 3 == 0).sum())
    return {1: [many], 2: np.arange(slots.size) < many}


launched(
    "cooperative",
    "coalesced",
    3,
    100,
    lambda: (integers(290), zeros(1, dtype=np.int32), zeros(290, dtype=np.int32), i32(290)),
    taken,
)


def smoothed(a: np.ndarray, b: np.ndarray, n: np.int32, rounds: np.int32) -> dict:
    """Halves and quarters are exact, so only the two sums of each step round."""
    a, b = a.copy(), b.copy()
    for _ in range(rounds):
        b[:] = np.float32(0.5) * a + np.float32(0.25) * (np.roll(a, 1) + np.roll(a, -1))
        a, b = b, a
    return {0: a, 1: b} if rounds % 2 == 0 else {0: b, 1: a}


launched(
    "cooperative",
    "grid_rounds",
    4,
    64,
    lambda: (floats(250), zeros(250), i32(250), i32(5)),
    smoothed,
    cooperative=True,
    polls=True,
)
