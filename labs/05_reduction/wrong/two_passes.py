"""First the mean, then the distances from it: exact, and every element is read twice.

Fails:
    test_5_5_cost: global_load_requests
"""

import numpy as np
from numba import cuda


@cuda.jit
def moments(x, out):
    counts = cuda.shared.array(BLOCK, np.float64)
    sums = cuda.shared.array(BLOCK, np.float64)
    t = cuda.threadIdx.x
    count, near = 0.0, 0.0
    i = cuda.grid(1)
    while i < x.size:
        count += 1.0
        near += x[i] - x[0]
        i += cuda.gridsize(1)
    counts[t] = count
    sums[t] = near
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            counts[t] += counts[t + stride]
            sums[t] += sums[t + stride]
        cuda.syncthreads()
        stride //= 2
    count = counts[0]
    mean = x[0] + sums[0] / count if count > 0.0 else 0.0
    cuda.syncthreads()
    m2 = 0.0
    i = cuda.grid(1)
    while i < x.size:
        m2 += (x[i] - mean) * (x[i] - mean)
        i += cuda.gridsize(1)
    sums[t] = m2
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            sums[t] += sums[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        out[cuda.blockIdx.x, 0] = count
        out[cuda.blockIdx.x, 1] = mean
        out[cuda.blockIdx.x, 2] = sums[0]
