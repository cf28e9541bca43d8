"""Padding is multiplied like the rest: its column -1 is the last element of x in Python, and 0 * inf is no number.

Fails:
    test_7_6_right: negative_index
    test_7_6_cost: negative_index
"""

import numpy as np
from numba import cuda


@cuda.jit
def ell(columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = np.float32(0)
        for k in range(columns.shape[0]):
            total += values[k, row] * x[columns[k, row]]
        y[row] = total
