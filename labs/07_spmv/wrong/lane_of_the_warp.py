"""The lane of the warp is taken for the lane of the row: entries of later rows begin too far behind.

Fails:
    test_7_4_right: wrong answer
    test_7_4_cost: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_subwarp(indptr, indices, data, x, y, lanes):
    row = cuda.grid(1) // lanes
    lane = cuda.laneid
    total = np.float32(0)
    if row < y.size:
        for k in range(indptr[row] + lane, indptr[row + 1], lanes):
            total += data[k] * x[indices[k]]
    offset = lanes // 2
    while offset > 0:
        total += cuda.shfl_xor_sync(FULL, total, offset)
        offset //= 2
    if row < y.size and cuda.grid(1) % lanes == 0:
        y[row] = total
