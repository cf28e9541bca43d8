"""A warp takes the maximum up to its own end, not up to the end of the warp before it.

Fails:
    test_6_6_right: wrong answer
    test_6_6_cost: wrong answer
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def running_max(x, y):
    of_warp = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    warp = t // 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(-math.inf)
    for offset in (1, 2, 4, 8, 16):
        value = max(value, cuda.shfl_up_sync(FULL, value, offset))
    if t % 32 == 31:
        of_warp[warp] = value
    cuda.syncthreads()
    if warp == 0:
        largest = of_warp[t] if t < cuda.blockDim.x // 32 else np.float32(-math.inf)
        for offset in (1, 2, 4, 8, 16):
            largest = max(largest, cuda.shfl_up_sync(FULL, largest, offset))
        of_warp[t] = largest
    cuda.syncthreads()
    if warp > 0:
        value = max(value, of_warp[warp])
    if i < x.size:
        y[i] = value
