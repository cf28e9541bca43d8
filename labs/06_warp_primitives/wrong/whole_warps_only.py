"""Every shuffle names 32 lanes: the last warp of 80 threads has 16.

Fails:
    test_6_4_any_block: shuffle_mask_names_absent_lane
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
    for offset in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_down_sync(FULL, value, offset))
    if t % 32 == 0:
        of_warp[t // 32] = value
    cuda.syncthreads()
    if t < 32:
        value = of_warp[t] if t < (cuda.blockDim.x + 31) // 32 else np.float32(-math.inf)
    if t < 32:
        for offset in (16, 8, 4, 2, 1):
            value = max(value, cuda.shfl_down_sync(FULL, value, offset))
        if t == 0:
            out[cuda.blockIdx.x] = value
