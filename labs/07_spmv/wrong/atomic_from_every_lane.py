"""Every lane adds its part to y by an atomic, after lane 0 has set it: right, in a queue.

Fails:
    test_7_4_cost: global_atomics
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_subwarp(indptr, indices, data, x, y, lanes):
    row = cuda.grid(1) // lanes
    lane = cuda.grid(1) % lanes
    total = np.float32(0)
    if row < y.size and lane == 0:
        y[row] = total
    cuda.syncwarp()
    if row < y.size:
        for k in range(indptr[row] + lane, indptr[row + 1], lanes):
            total += data[k] * x[indices[k]]
        cuda.atomic.add(y, row, total)
