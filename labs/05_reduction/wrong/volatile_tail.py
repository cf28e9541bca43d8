"""The tail of 2007: lanes of one warp in step, which nothing promises any more. Right, by luck.

Fails:
    test_5_4_right: race_shared
    test_5_4_cost: race_shared
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
        sizes[t] = max(sizes[t], sizes[t + 32])
        sizes[t] = max(sizes[t], sizes[t + 16])
        sizes[t] = max(sizes[t], sizes[t + 8])
        sizes[t] = max(sizes[t], sizes[t + 4])
        sizes[t] = max(sizes[t], sizes[t + 2])
        sizes[t] = max(sizes[t], sizes[t + 1])
    if t == 0:
        partial[cuda.blockIdx.x] = sizes[0]
