"""Threads outside of c leave first, and with them the elements of the tiles that they should have loaded.

Fails:
    test_4_7_right: barrier_with_exited_threads
"""

import math

import numpy as np

from gpukit import cuda

SIDE = 16


@cuda.jit
def two_legs(a, b, c):
    tile_a = cuda.shared.array((SIDE, SIDE), np.float32)
    tile_b = cuda.shared.array((SIDE, SIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    if i >= c.shape[0] or j >= c.shape[1]:
        return
    inner = a.shape[1]
    best = np.float32(math.inf)
    for start in range(0, inner, SIDE):
        tile_a[ty, tx] = a[i, start + tx] if start + tx < inner else math.inf
        tile_b[ty, tx] = b[start + ty, j] if start + ty < inner else math.inf
        cuda.syncthreads()
        for k in range(SIDE):
            best = min(best, tile_a[ty, k] + tile_b[k, tx])
        cuda.syncthreads()
    c[i, j] = best
