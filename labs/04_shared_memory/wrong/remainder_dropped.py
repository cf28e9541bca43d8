"""Whole tiles only: the stops after the last multiple of 16 are never tried.

Fails:
    test_4_7_right: wrong answer
    test_4_7_cost: wrong answer
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
    inner = a.shape[1]
    best = np.float32(math.inf)
    for start in range(0, inner // SIDE * SIDE, SIDE):
        tile_a[ty, tx] = a[i, start + tx] if i < a.shape[0] and start + tx < inner else math.inf
        tile_b[ty, tx] = b[start + ty, j] if start + ty < inner and j < b.shape[1] else math.inf
        cuda.syncthreads()
        for k in range(SIDE):
            best = min(best, tile_a[ty, k] + tile_b[k, tx])
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = best
