"""The tree of lab 5, a slot a thread: right, with a barrier a step.

Fails:
    test_6_4_cost: barriers
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def block_max(x, out):
    tile = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else np.float32(-math.inf)
    cuda.syncthreads()
    width = cuda.blockDim.x
    while width > 1:
        half = (width + 1) // 2
        if t + half < width:
            tile[t] = max(tile[t], tile[t + half])
        cuda.syncthreads()
        width = half
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
