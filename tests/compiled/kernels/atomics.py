"""Atomic operations."""

import numpy as np
from compiled.kernels.table import floats, i32, integers, launched, zeros

N = 230


def numbers() -> np.ndarray:
    """Whole numbers of both signs; one of them is N - 1."""
    x = integers(N, low=-(10**6), high=10**6)
    x[5] = N - 1
    return x


def every_kind(x: np.ndarray, to: np.ndarray, n: np.int32) -> dict:
    """What N atomics of each kind leave; order does not matter."""
    unsigned = x.view(np.uint32)
    return {
        1: np.array(
            [
                x.sum(),
                -x.sum(),
                x.min(),
                x.max(),
                np.bitwise_and.reduce(x),
                np.bitwise_or.reduce(x),
                np.bitwise_xor.reduce(x),
                unsigned.min().view(np.int32),
                unsigned.max().view(np.int32),
                N % 100,
                (70 - N) % 71,
                N - 1,
                4711,
            ]
        )
    }


launched(
    "atomics",
    "atomics_int",
    3,
    96,
    lambda: (
        numbers(),
        np.array([0, 0, 2**31 - 1, -(2**31), -1, 0, 0, -1, 0, 0, 70, -5, 0], np.int32),
        i32(N),
    ),
    every_kind,
)
launched(
    "atomics",
    "atomics_wide",
    3,
    96,
    lambda: (
        integers(N, low=-(2**40), high=2**40, dtype=np.int64),
        np.array([0, 2**63 - 1, -(2**63), 0], np.int64),
        zeros(1, dtype=np.float64),
        i32(N),
    ),
    lambda x, to, total, n: {1: [x.sum(), x.min(), x.max(), np.bitwise_xor.reduce(x)], 2: [float(x.sum())]},
)
launched(
    "atomics",
    "tickets",
    3,
    100,
    lambda: (zeros(300, dtype=np.int32), zeros(3, dtype=np.int32)),
    lambda owner, high: {0: np.ones(300), 1: [99] * 3},
)
launched(
    "atomics",
    "product",
    2,
    64,
    lambda: (np.exp2(integers(100, low=-1, high=2)).astype(np.float32), np.ones(1, np.float32), i32(100)),
    lambda x, out, n: {1: [x.astype(np.float64).prod()]},
    polls=True,
)
launched(
    "atomics",
    "float_max",
    2,
    64,
    lambda: (floats(100, low=-3, high=2), np.array([-np.inf], np.float32), i32(100)),
    lambda x, out, n: {1: [x.max()]},
)
launched(
    "atomics",
    "float_max",
    2,
    64,
    lambda: (floats(100, low=-3, high=-2), np.array([-np.inf], np.float32), i32(100)),
    lambda x, out, n: {1: [x.max()]},
    name="float_max, all negative",
)
