"""Barriers of the block down to the last value: right, and 31 warps of 32 wait for nothing.

Fails:
    test_5_4_cost: barriers
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
    while stride > 0:
        if t < stride:
            sizes[t] = max(sizes[t], sizes[t + stride])
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = sizes[0]
