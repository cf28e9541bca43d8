"""No barrier between loading and looking: a thread may look at slots that another warp has not filled yet.

Fails:
    test_4_5_right: race_shared
    test_4_5_cost: race_shared
"""

import math

from gpukit import cuda

RADIUS = 5
SLOTS = 256 + 2 * RADIUS


@cuda.jit
def sliding_max(x, y):
    tile = cuda.shared.array(SLOTS, x.dtype)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    first = cuda.blockIdx.x * cuda.blockDim.x - RADIUS
    for k in range(t, cuda.blockDim.x + 2 * RADIUS, cuda.blockDim.x):
        tile[k] = x[first + k] if 0 <= first + k < x.size else -math.inf
    if i < x.size:
        largest = tile[t]
        for k in range(t + 1, t + 2 * RADIUS + 1):
            largest = max(largest, tile[k])
        y[i] = largest
