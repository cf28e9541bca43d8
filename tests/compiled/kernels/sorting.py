"""Sorting, merging, compaction."""

import numpy as np
from compiled.kernels.table import blocks_of, i32, integers, launched, zeros

launched(
    "sorting",
    "bitonic_block",
    3,
    128,
    lambda: (integers(768, low=-500, high=500),),
    lambda keys: {0: np.sort(keys.reshape(3, 256)).ravel()},
)


def step(keys: np.ndarray, size: np.int32, stride: np.int32) -> dict:
    """One step of a bitonic network: pairs `stride` apart, ascending where the bit `size` of their index is 0."""
    pairs = keys.reshape(-1, 2, stride)
    low, high = pairs.min(1), pairs.max(1)
    index = np.arange(keys.size).reshape(-1, 2, stride)[:, 0]
    ascending = index & size == 0
    return {0: np.stack((np.where(ascending, low, high), np.where(ascending, high, low)), 1).ravel()}


launched("sorting", "bitonic_step", 4, 128, lambda: (integers(1024), i32(256), i32(32)), step)
launched(
    "sorting",
    "bitonic_step",
    4,
    128,
    lambda: (integers(1024), i32(2048), i32(1)),
    step,
    name="bitonic_step, neighbours",
)


def digits(keys: np.ndarray, shift: int, block: int) -> np.ndarray:
    """counts[digit][block]."""
    digit = blocks_of((keys >> np.uint32(shift) & 15).astype(np.int64) + 1, block)
    return np.stack([(digit == d + 1).sum(1) for d in range(16)])


launched(
    "sorting",
    "radix_count",
    4,
    96,
    lambda: (integers(350, high=2**32, dtype=np.uint32), zeros(16, 4, dtype=np.uint32), i32(350), i32(8)),
    lambda keys, counts, n, shift: {1: digits(keys, 8, 96)},
)


def scatter_arguments() -> tuple:
    """Keys, and where each digit of each block of 32 begins."""
    keys = integers(200, high=2**32, dtype=np.uint32)
    counts = digits(keys, 4, 32).ravel()
    starts = (counts.cumsum() - counts).astype(np.uint32)
    return keys, starts, zeros(200, dtype=np.uint32), i32(200), i32(4)


launched(
    "sorting",
    "radix_scatter",
    7,
    32,
    scatter_arguments,
    lambda keys, starts, out, n, shift: {2: keys[np.argsort(keys >> np.uint32(4) & 15, kind="stable")]},
)
launched(
    "sorting",
    "merge",
    3,
    48,
    lambda: (
        np.sort(integers(301)),
        i32(301),
        np.sort(integers(200, seed=2)),
        i32(200),
        zeros(501, dtype=np.int32),
    ),
    lambda a, na, b, nb, out: {4: np.sort(np.concatenate((a, b)))},
)


def kept(x: np.ndarray, out: np.ndarray, count: np.ndarray, n: np.int32) -> dict:
    """What is positive, at the front."""
    positive = x[x > 0]
    return {1: np.pad(positive, (0, x.size - positive.size)), 2: [positive.size]}


launched(
    "sorting",
    "compaction",
    1,
    256,
    lambda: (integers(230, low=-50, high=50), zeros(230, dtype=np.int32), zeros(1, dtype=np.int32), i32(230)),
    kept,
)
