"""The lanes add up in each turn, and not once for the row: right, and 5 shuffles for 32 entries.

Fails:
    test_7_3_cost: warp_synchronisations
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
        start = indptr[row]
        end = indptr[row + 1]
        while start < end:
            part = np.float32(0)
            if start + lane < end:
                part = data[start + lane] * x[indices[start + lane]]
            total += warp_sum(part)
            start += 32
    if row < y.size and lane == 0:
        y[row] = total
