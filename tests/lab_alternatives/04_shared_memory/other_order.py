"""Two rows of cells that change places (one barrier a round), a tile that is stored turned, a halo loaded by the first
threads, bins merged only where they count something, barriers at other ends of the loop, padded tiles.
"""

import math

import numpy as np

from gpukit import cuda

RADIUS = 5
SLOTS = 266
BINS = 100
TILE = 32
PITCH = 33
SIDE = 16


@cuda.jit
def generations(cells, out, rounds):
    tile = cuda.shared.array((2, 256), np.uint8)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    last = cuda.blockDim.x - 1
    tile[0, t] = cells[i]
    now = 0
    for _ in range(rounds):
        cuda.syncthreads()
        tile[1 - now, t] = tile[now, t] if t == 0 or t == last else tile[now, t - 1] ^ tile[now, t + 1]
        now = 1 - now
    out[i] = tile[now, t]


@cuda.jit
def quarter_turn(image, out):
    tile = cuda.shared.array((TILE, PITCH), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, columns = image.shape
    top, left = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    high = min(TILE, rows - top)  # rows of the image in this tile
    for k in range(ty, high, 8):
        if left + tx < columns:
            tile[tx, high - 1 - k] = image[top + k, left + tx]
    cuda.syncthreads()
    for k in range(ty, TILE, 8):
        if tx < high and left + k < columns:
            out[left + k, rows - top - high + tx] = tile[k, tx]


@cuda.jit
def sliding_max(x, y):
    tile = cuda.shared.array(SLOTS, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    width = cuda.blockDim.x
    none = np.float32(-math.inf)
    tile[t + RADIUS] = x[i] if i < x.size else none
    if t < RADIUS:
        tile[t] = x[i - RADIUS] if i >= RADIUS else none
        right = i + width
        tile[t + width + RADIUS] = x[right] if right < x.size else none
    cuda.syncthreads()
    largest = none
    for k in range(2 * RADIUS + 1):
        largest = max(largest, tile[t + k])
    if i < x.size:
        y[i] = largest


@cuda.jit
def histogram(x, counts):
    mine = cuda.shared.array(128, np.int32)
    t = cuda.threadIdx.x
    b = t
    while b < 128:
        mine[b] = 0
        b += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < x.size:
        value = x[i]
        cuda.atomic.add(mine, value, 1)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    b = t
    while b < BINS:
        if mine[b] > 0:
            cuda.atomic.add(counts, b, mine[b])
        b += cuda.blockDim.x


@cuda.jit
def two_legs(a, b, c):
    tile_a = cuda.shared.array((SIDE, 17), np.float32)
    tile_b = cuda.shared.array((SIDE, 17), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    j = cuda.blockIdx.x * SIDE + tx
    i = cuda.blockIdx.y * SIDE + ty
    rows, inner = a.shape
    columns = b.shape[1]
    best = np.float32(math.inf)
    for part in range((inner + SIDE - 1) // SIDE):
        cuda.syncthreads()
        ka = part * SIDE + tx
        kb = part * SIDE + ty
        tile_a[ty, tx] = math.inf
        tile_b[ty, tx] = math.inf
        if i < rows and ka < inner:
            tile_a[ty, tx] = a[i, ka]
        if kb < inner and j < columns:
            tile_b[ty, tx] = b[kb, j]
        cuda.syncthreads()
        for k in range(SIDE):
            way = tile_a[ty, k] + tile_b[k, tx]
            if way < best:
                best = way
    if i < rows and j < columns:
        c[i, j] = best
