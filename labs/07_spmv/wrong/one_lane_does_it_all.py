"""One lane of each row adds up all of it: right, and no better than a thread a row.

Fails:
    test_7_4_cost: global_load_requests
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_subwarp(indptr, indices, data, x, y, lanes):
    row = cuda.grid(1) // lanes
    lane = cuda.grid(1) % lanes
    if row < y.size and lane == 0:
        total = np.float32(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = total
