"""A tile without padding whose columns are shuffled by exclusive or, tiles only as deep as the matrices go, a halo that
is cut at the ends of the array, and for every block a stretch of the elements to count.
"""

import math

import numpy as np

from gpukit import cuda

RADIUS = 5
SLOTS = 266
BINS = 100
TILE = 32
SIDE = 16


@cuda.jit
def quarter_turn(image, out):
    tile = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, columns = image.shape
    top, left = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    for k in range(ty, TILE, 8):
        if top + k < rows and left + tx < columns:
            tile[k, tx ^ k] = image[top + k, left + tx]
    cuda.syncthreads()
    for k in range(ty, TILE, 8):
        if top + tx < rows and left + k < columns:
            out[left + k, rows - 1 - (top + tx)] = tile[tx, k ^ tx]


@cuda.jit
def sliding_max(x, y):
    tile = cuda.shared.array(SLOTS, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    first = cuda.blockIdx.x * cuda.blockDim.x
    low = max(0, first - RADIUS)
    high = min(x.size, first + cuda.blockDim.x + RADIUS)
    for k in range(low + t, high, cuda.blockDim.x):
        tile[k - low] = x[k]
    cuda.syncthreads()
    if i < x.size:
        largest = tile[i - low]
        for k in range(max(low, i - RADIUS), min(high, i + RADIUS + 1)):
            largest = max(largest, tile[k - low])
        y[i] = largest


@cuda.jit
def histogram(x, counts):
    mine = cuda.shared.array(BINS, np.int32)
    t = cuda.threadIdx.x
    for b in range(t, BINS, cuda.blockDim.x):
        mine[b] = 0
    cuda.syncthreads()
    each = (x.size + cuda.gridDim.x - 1) // cuda.gridDim.x
    each = (each + 31) // 32 * 32
    first = cuda.blockIdx.x * each
    for i in range(first + t, min(first + each, x.size), cuda.blockDim.x):
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, b, mine[b])


@cuda.jit
def two_legs(a, b, c):
    tile_a = cuda.shared.array((SIDE, SIDE), np.float32)
    tile_b = cuda.shared.array((SIDE, SIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j, i = cuda.grid(2)
    best = np.float32(math.inf)
    for start in range(0, a.shape[1], SIDE):
        if i < a.shape[0] and start + tx < a.shape[1]:
            tile_a[ty, tx] = a[i, start + tx]
        if start + ty < a.shape[1] and j < b.shape[1]:
            tile_b[ty, tx] = b[start + ty, j]
        cuda.syncthreads()
        if i < c.shape[0] and j < c.shape[1]:
            for k in range(min(SIDE, a.shape[1] - start)):
                best = min(best, tile_a[ty, k] + tile_b[k, tx])
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = best
