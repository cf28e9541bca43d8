"""x is read first, and then asked whether the slot is padding.

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
            other = x[columns[k, row]]
            if columns[k, row] >= 0:
                total += values[k, row] * other
        y[row] = total
