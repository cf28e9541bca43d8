"""The shuffles name all 32 lanes, but only those that are still needed take part.

Fails:
    test_5_4_right: shuffle_mask_names_absent_lane
    test_5_4_cost: shuffle_mask_names_absent_lane
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
        size = max(sizes[t], sizes[t + 32])
        offset = 16
        while offset > 0:
            if t < 2 * offset:
                size = max(size, cuda.shfl_down_sync(FULL, size, offset))
            offset //= 2
        if t == 0:
            partial[cuda.blockIdx.x] = size
