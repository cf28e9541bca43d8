"""The loop over the window ends one slot early: the last neighbour on the right never counts.

Fails:
    test_4_5_right: wrong answer
    test_4_5_cost: wrong answer
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
    cuda.syncthreads()
    if i < x.size:
        largest = tile[t]
        for k in range(t + 1, t + 2 * RADIUS):
            largest = max(largest, tile[k])
        y[i] = largest
