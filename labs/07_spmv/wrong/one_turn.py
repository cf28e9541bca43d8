"""Each lane takes one entry: rows of more than 32 lose the rest.

Fails:
    test_7_3_right: wrong answer
    test_7_3_cost: wrong answer
"""

import numpy as np
from numba import cuda

from gpukit.warp import warp_sum


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    row = cuda.grid(1) // 32
    lane = cuda.grid(1) % 32
    if row < y.size:
        k = indptr[row] + lane
        total = np.float32(0)
        if k < indptr[row + 1]:
            total = data[k] * x[indices[k]]
        total = warp_sum(total)
        if lane == 0:
            y[row] = total
