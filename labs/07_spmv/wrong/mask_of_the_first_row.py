"""The mask names as many lanes as a row has, but always the first ones of the warp.

Fails:
    test_7_4_right: warp_mask_excludes_caller
    test_7_4_cost: warp_mask_excludes_caller
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_subwarp(indptr, indices, data, x, y, lanes):
    row = cuda.grid(1) // lanes
    lane = cuda.grid(1) % lanes
    total = np.float32(0)
    if row < y.size:
        for k in range(indptr[row] + lane, indptr[row + 1], lanes):
            total += data[k] * x[indices[k]]
    mask = (1 << lanes) - 1
    offset = lanes // 2
    while offset > 0:
        total += cuda.shfl_xor_sync(mask, total, offset)
        offset //= 2
    if row < y.size and lane == 0:
        y[row] = total
