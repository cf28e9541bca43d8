"""log2 T steps in shared memory, two barriers each: right, and the warps do nothing by themselves.

Fails:
    test_6_6_cost: barriers
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def running_max(x, y):
    tile = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else np.float32(-math.inf)
    cuda.syncthreads()
    offset = 1
    while offset < cuda.blockDim.x:
        before = tile[t - offset] if t >= offset else np.float32(-math.inf)
        cuda.syncthreads()
        tile[t] = max(tile[t], before)
        cuda.syncthreads()
        offset *= 2
    if i < x.size:
        y[i] = tile[t]
