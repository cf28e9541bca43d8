"""Numbers too narrow for what is stored in them: indices beyond 2^31, sums in the type of the data, a stuck float sum.

https://github.com/numba/numba/issues/9229
https://github.com/DeepWave-KAUST/sweep/pull/76
https://github.com/NVIDIA/cudf/issues/8449
https://github.com/numba/numba/issues/2855
"""

import numpy as np

from gpukit import cuda


def flat_index(row, column, width, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = width * row[i] + column[i]


def running_sum(x, out):
    if cuda.grid(1) == 0:
        for i in range(x.size):
            out[0] += x[i]


def sum_float32(x, out):
    if cuda.grid(1) == 0:
        total = np.float32(0)
        for i in range(x.size):
            total += x[i]
        out[0] = total


def sum_float64(x, out):
    if cuda.grid(1) == 0:
        total = np.float64(0)
        for i in range(x.size):
            total += x[i]
        out[0] = total


def indices(dtype):
    return [np.array([3, 70_000], np.int32), np.array([1, 9], np.int32), 65_536, np.zeros(2, dtype)]


def ones_after_a_large_number():
    x = np.ones(1001, np.float32)
    x[0] = 2.0**25
    return [x, np.zeros(1)]


def billions(dtype):
    return [np.full(5, 2_000_000_000, np.int32), np.zeros(1, dtype)]


FLAT = [3 * 65_536 + 1, 70_000 * 65_536 + 9]

CASES = {
    "int32 indices": {
        "kernel": flat_index,
        "args": lambda: indices(np.int32),
        "grid": 1,
        "block": 32,
        "out": 3,
        "detect": ["int_overflow"],
        "result": [FLAT[0], FLAT[1] - 2**32],
        "correct": FLAT,
    },
    "int64 indices": {
        "kernel": flat_index,
        "args": lambda: indices(np.int64),
        "grid": 1,
        "block": 32,
        "out": 3,
        "detect": [],
        "result": FLAT,
        "correct": FLAT,
    },
    "int32 sum": {
        "kernel": running_sum,
        "args": lambda: billions(np.int32),
        "grid": 1,
        "block": 32,
        "out": 1,
        "detect": ["int_overflow"],
        "result": [10_000_000_000 - 2 * 2**32],
        "correct": [10_000_000_000],
    },
    "int64 sum": {
        "kernel": running_sum,
        "args": lambda: billions(np.int64),
        "grid": 1,
        "block": 32,
        "out": 1,
        "detect": [],
        "result": [10_000_000_000],
        "correct": [10_000_000_000],
    },
    "float32 sum": {
        "kernel": sum_float32,
        "args": ones_after_a_large_number,
        "grid": 1,
        "block": 32,
        "out": 1,
        "detect": ["precision_loss"],
        "result": [2.0**25],
        "correct": [2.0**25 + 1000],
    },
    "float64 sum": {
        "kernel": sum_float64,
        "args": ones_after_a_large_number,
        "grid": 1,
        "block": 32,
        "out": 1,
        "detect": [],
        "result": [2.0**25 + 1000],
        "correct": [2.0**25 + 1000],
    },
}
