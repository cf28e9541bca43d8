"""All lanes store, and not lane 0 alone, which has the sum.

Fails:
    test_7_3_right: race_global
    test_7_3_cost: race_global
"""

import numpy as np
from numba import cuda

from gpukit.warp import warp_sum


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    row = cuda.grid(1) // 32
    lane = cuda.laneid
    total = np.float32(0)
    if row < y.size:
        for k in range(indptr[row] + lane, indptr[row + 1], 32):
            total += data[k] * x[indices[k]]
    total = warp_sum(total)
    if row < y.size:
        y[row] = total
