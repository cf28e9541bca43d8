"""Multiply matrices by tiles in shared memory; sizes that no tile divides."""

import math

import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), dtype=float32)
    tile_b = cuda.shared.array((TILE, TILE), dtype=float32)
    column, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for k in range((a.shape[1] + TILE - 1) // TILE):
        inside = row < a.shape[0] and k * TILE + tx < a.shape[1]
        tile_a[ty, tx] = a[row, k * TILE + tx] if inside else 0.0
        inside = column < b.shape[1] and k * TILE + ty < b.shape[0]
        tile_b[ty, tx] = b[k * TILE + ty, column] if inside else 0.0
        cuda.syncthreads()
        for j in range(TILE):
            total += tile_a[ty, j] * tile_b[j, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


rng = np.random.default_rng(1)
a = rng.random((45, 70), dtype=np.float32)
b = rng.random((70, 33), dtype=np.float32)
c = np.empty((45, 33), np.float32)
grid = (math.ceil(c.shape[1] / TILE), math.ceil(c.shape[0] / TILE))
matmul[grid, (TILE, TILE)](a, b, c)
np.testing.assert_allclose(c, a @ b, rtol=1e-5)
print("ok", grid)
