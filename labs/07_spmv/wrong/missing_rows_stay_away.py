"""Threads without a row do not come to the shuffles, whose mask names the whole warp.

Fails:
    test_7_4_right: shuffle_mask_names_absent_lane
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_subwarp(indptr, indices, data, x, y, lanes):
    row = cuda.grid(1) // lanes
    lane = cuda.grid(1) % lanes
    if row >= y.size:
        return
    total = np.float32(0)
    for k in range(indptr[row] + lane, indptr[row + 1], lanes):
        total += data[k] * x[indices[k]]
    offset = lanes // 2
    while offset > 0:
        total += cuda.shfl_xor_sync(FULL, total, offset)
        offset //= 2
    if lane == 0:
        y[row] = total
