"""The size of the block is written in: with more than 64 threads the halo is somewhere else.

Fails:
    test_4_5_right: uninit_shared_read
    test_4_5_cost: uninit_shared_read
"""

import math

from gpukit import cuda

RADIUS = 5
SLOTS = 256 + 2 * RADIUS


@cuda.jit
def sliding_max(x, y):
    tile = cuda.shared.array(SLOTS, x.dtype)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    first = cuda.blockIdx.x * 64 - RADIUS
    for k in range(t, 64 + 2 * RADIUS, 64):
        tile[k] = x[first + k] if 0 <= first + k < x.size else -math.inf
    cuda.syncthreads()
    if i < x.size:
        largest = tile[t]
        for k in range(t + 1, t + 2 * RADIUS + 1):
            largest = max(largest, tile[k])
        y[i] = largest
