"""Lanes without an entry do not come to the sum, which wants all 32.

Fails:
    test_7_3_right: shuffle_mask_names_absent_lane
"""

import numpy as np
from numba import cuda

from gpukit.warp import warp_sum


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    row = cuda.grid(1) // 32
    lane = cuda.grid(1) % 32
    if row < y.size:
        if lane == 0:
            y[row] = 0
        if indptr[row] + lane < indptr[row + 1]:
            total = np.float32(0)
            for k in range(indptr[row] + lane, indptr[row + 1], 32):
                total += data[k] * x[indices[k]]
            total = warp_sum(total)
            if lane == 0:
                y[row] = total
