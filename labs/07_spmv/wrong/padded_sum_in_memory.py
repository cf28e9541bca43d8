"""Every product goes to y in global memory: right, and a load and a store more for each slot.

Fails:
    test_7_6_cost: global_store_requests
"""

import numpy as np
from numba import cuda


@cuda.jit
def ell(columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        y[row] = np.float32(0)
        for k in range(columns.shape[0]):
            column = columns[k, row]
            if column >= 0:
                y[row] += values[k, row] * x[column]
