"""Five shuffles, whatever the number of lanes: rows that share a warp get each other's sums.

Fails:
    test_7_4_right: wrong answer
    test_7_4_cost: wrong answer
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
    for offset in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(FULL, total, offset)
    if row < y.size and lane == 0:
        y[row] = total
