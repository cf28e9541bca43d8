"""Prefix sums."""

import numpy as np
from compiled.kernels.table import blocks_of, floats, i32, integers, launched, zeros

N = 700


def data() -> np.ndarray:
    """Whole numbers of both signs."""
    return integers(N, low=-50, high=100)


def exclusive(x: np.ndarray) -> np.ndarray:
    """What stands before each element of its row."""
    return x.cumsum(1, dtype=x.dtype) - x


launched(
    "scan",
    "scan_doubling",
    3,
    256,
    lambda: (data(), zeros(N, dtype=np.int32), i32(N)),
    lambda x, out, n: {1: blocks_of(x, 256).cumsum(1).ravel()[:N]},
)
launched(
    "scan",
    "scan_tree",
    2,
    256,
    lambda: (data(), zeros(N, dtype=np.int32), zeros(2, dtype=np.int32), i32(N)),
    lambda x, out, totals, n: {1: exclusive(blocks_of(x, 512)).ravel()[:N], 2: blocks_of(x, 512).sum(1)},
)


def warp_scan(rows: np.ndarray) -> np.ndarray:
    """Inclusive scans of rows of 32 floats, in the order of five shuffles."""
    for d in (1, 2, 4, 8, 16):
        rows = np.concatenate((rows[:, :d], rows[:, d:] + rows[:, :-d]), 1)
    return rows


def scan_warps(x: np.ndarray) -> np.ndarray:
    """Scans of blocks of 96 floats."""
    within = warp_scan(x.reshape(-1, 32)).reshape(-1, 3, 32)
    totals = warp_scan(np.pad(within[:, :, 31], ((0, 0), (0, 29))))
    within[:, 1:] += totals[:, :2, None]
    return within.ravel()


launched(
    "scan",
    "scan_warps",
    4,
    96,
    lambda: (floats(384), zeros(384)),
    lambda x, out: {1: scan_warps(x)},
)
launched(
    "scan",
    "scan_add",
    3,
    256,
    lambda: (data(), np.array([0, 4321], np.int32), i32(N)),
    lambda x, before, n: {0: x + before[np.arange(N) // 512]},
)
