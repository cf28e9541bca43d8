"""The warp tail of 2007, without a word on who waits: right on a machine that goes in step, and a race.

Deserves: 0 points
Named: race_shared
"""

import numpy as np
from numba import cuda


@cuda.jit
def largest_magnitude(x, partial):
    sizes = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    sizes[t] = abs(x[i]) if i < x.size else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            sizes[t] = max(sizes[t], sizes[t + stride])
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = sizes[0]
