"""Barriers of the whole block, inside the branch of warp 0.

Fails:
    test_5_4_right: barrier_divergence
    test_5_4_cost: barrier_divergence
"""

import numpy as np
from numba import cuda


@cuda.jit
def largest_magnitude(x, partial):
    sizes = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    sizes[t] = abs(x[i]) if i < x.size else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 32:
        if t < stride:
            sizes[t] = max(sizes[t], sizes[t + stride])
        cuda.syncthreads()
        stride //= 2
    if t < 32:
        stride = 32
        while stride > 0:
            if t < stride:
                sizes[t] = max(sizes[t], sizes[t + stride])
            cuda.syncthreads()
            stride //= 2
    cuda.syncthreads()
    if t == 0:
        partial[cuda.blockIdx.x] = sizes[0]
