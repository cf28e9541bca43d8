"""The number of the warp in its block is taken for the row: all blocks do the same rows.

Fails:
    test_7_3_right: no thread wrote it
    test_7_3_cost: no thread wrote it
"""

import numpy as np
from numba import cuda

from gpukit.warp import warp_sum


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    row = cuda.threadIdx.x // 32
    lane = cuda.laneid
    total = np.float32(0)
    if row < y.size:
        for k in range(indptr[row] + lane, indptr[row + 1], 32):
            total += data[k] * x[indices[k]]
    total = warp_sum(total)
    if row < y.size and lane == 0:
        y[row] = total
