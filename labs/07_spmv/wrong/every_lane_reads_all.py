"""Every lane goes through the whole row: right, and 32 times the same.

Fails:
    test_7_3_cost: global_load_requests
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    row = cuda.grid(1) // 32
    lane = cuda.laneid
    if row < y.size:
        total = np.float32(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        if lane == 0:
            y[row] = total
