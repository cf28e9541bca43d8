"""The number of warps is rounded down: the last one, which is not whole, is forgotten.

Fails:
    test_6_4_any_block: wrong answer
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def block_max(x, out):
    of_warp = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(-math.inf)
    value = warp_max(value, min(32, cuda.blockDim.x - t // 32 * 32))
    if t % 32 == 0:
        of_warp[t // 32] = value
    cuda.syncthreads()
    warps = max(1, cuda.blockDim.x // 32)
    if t < warps:
        value = warp_max(of_warp[t], warps)
        if t == 0:
            out[cuda.blockIdx.x] = value
