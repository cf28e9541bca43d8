"""The means are kept in float32, whose steps at 1.7e9 are 128 seconds.

Fails:
    test_5_5_right: wrong answer
    test_5_5_empty: wrong answer
    test_5_5_cost: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def moments(x, out):
    counts = cuda.shared.array(BLOCK, np.float32)
    means = cuda.shared.array(BLOCK, np.float32)
    m2s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    count, mean, m2 = 0.0, 0.0, 0.0
    i = cuda.grid(1)
    while i < x.size:
        count, mean, m2 = merge(count, mean, m2, 1.0, x[i], 0.0)
        i += cuda.gridsize(1)
    counts[t] = count
    means[t] = mean
    m2s[t] = m2
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            u = t + stride
            count, mean, m2 = merge(counts[t], means[t], m2s[t], counts[u], means[u], m2s[u])
            counts[t] = count
            means[t] = mean
            m2s[t] = m2
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        out[cuda.blockIdx.x, 0] = counts[0]
        out[cuda.blockIdx.x, 1] = means[0]
        out[cuda.blockIdx.x, 2] = m2s[0]
