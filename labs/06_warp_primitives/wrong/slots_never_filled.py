"""Warp 0 reads all 32 slots, of which only as many are filled as there are warps.

Fails:
    test_6_4_right: uninit_shared_read
    test_6_4_any_block: uninit_shared_read
    test_6_4_cost: uninit_shared_read
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
    if t < 32:
        value = warp_max(of_warp[t], min(32, cuda.blockDim.x))
        if t == 0:
            out[cuda.blockIdx.x] = value
