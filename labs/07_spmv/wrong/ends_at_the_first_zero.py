"""A row is thought to end at its first value of 0, which may be an entry.

Fails:
    test_7_6_right: wrong answer
    test_7_6_cost: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def ell(columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = np.float32(0)
        for k in range(columns.shape[0]):
            if values[k, row] == 0:
                break
            total += values[k, row] * x[columns[k, row]]
        y[row] = total
