"""The lanes add up in shared memory: right, and a tree with barriers for what 5 shuffles do.

Fails:
    test_7_3_cost: shared_load_requests
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    parts = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    row = cuda.grid(1) // 32
    lane = cuda.grid(1) % 32
    total = np.float32(0)
    if row < y.size:
        for k in range(indptr[row] + lane, indptr[row + 1], 32):
            total += data[k] * x[indices[k]]
    parts[t] = total
    cuda.syncthreads()
    for half in (16, 8, 4, 2, 1):
        if lane < half:
            parts[t] += parts[t + half]
        cuda.syncthreads()
    if row < y.size and lane == 0:
        y[row] = parts[t]
