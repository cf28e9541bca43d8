"""Atomic sums of 16-bit floats."""

import numpy as np
from compiled.kernels.table import bfloat_bits, bfloat_values, i32, integers, launched, zeros

HALF = np.float16


def by_index(values: np.ndarray, groups: int) -> np.ndarray:
    """Sums of rows i with the same i % groups."""
    total = np.zeros((groups, *values.shape[1:]), np.float32)
    np.add.at(total, np.arange(len(values)) % groups, values)
    return total


def half_sums(x: np.ndarray, sums: np.ndarray, single: np.ndarray, n: np.int32) -> dict:
    """Pairs by i % 4; the low ones of odd i by i % 3; the fourth place stays."""
    odd = np.arange(n) % 2 == 1
    low = np.where(odd, x[:, 0], 0).astype(np.float32)
    return {1: by_index(x.astype(np.float32), 4), 2: np.append(by_index(low, 3), 0)}


launched(
    "packed_atomics",
    "half2_atomics",
    2,
    64,
    lambda: (integers(100, 2, low=-9, high=10, dtype=HALF), zeros(4, 2, dtype=HALF), zeros(4, dtype=HALF), i32(100)),
    half_sums,
)
launched(
    "packed_atomics",
    "bfloat2_atomics",
    2,
    64,
    lambda: (
        bfloat_bits(integers(100, 2, low=-3, high=4, dtype=np.float32)),
        zeros(4, 2, dtype=np.uint16),
        i32(100),
    ),
    lambda x, sums, n: {1: bfloat_bits(by_index(bfloat_values(x), 4))},
)
