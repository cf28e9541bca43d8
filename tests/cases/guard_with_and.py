"""A guard for two axes that says `and` where it means `or`; part of what it lets through stays inside the allocation.

https://github.com/numba/numba/issues/6884
https://github.com/numba/numba/issues/7324
"""

import numpy as np

from gpukit import cuda

ROWS, COLUMNS = 6, 9


def guard_with_and(a, out):
    column, row = cuda.grid(2)
    if row >= a.shape[0] and column >= a.shape[1]:
        return
    out[row, column] = a[row, column] + 1


def guard_with_or(a, out):
    column, row = cuda.grid(2)
    if row >= a.shape[0] or column >= a.shape[1]:
        return
    out[row, column] = a[row, column] + 1


def args():
    return [np.arange(ROWS * COLUMNS, dtype=np.int32).reshape(ROWS, COLUMNS), np.zeros((ROWS, COLUMNS), np.int32)]


CORRECT = np.arange(1, ROWS * COLUMNS + 1).reshape(ROWS, COLUMNS)
# 16 x 8 threads: 2 rows too many times 9 columns, 7 columns too many times 6 rows.
OUTSIDE = 2 * 9 + 7 * 6

CASES = {
    "and": {
        "kernel": guard_with_and,
        "args": args,
        "grid": (2, 2),
        "block": (8, 4),
        "out": 1,
        "detect": ["oob_global_read", "oob_global_write"],
        "correct": CORRECT,
        "counts": {"oob_global_read": OUTSIDE, "oob_global_write": OUTSIDE},
    },
    "or": {
        "kernel": guard_with_or,
        "args": args,
        "grid": (2, 2),
        "block": (8, 4),
        "out": 1,
        "detect": [],
        "result": CORRECT,
        "correct": CORRECT,
    },
}
