"""Rows of 32 words: a column of the tile is one bank.

Fails:
    test_4_4_banks: shared_load_bank_conflicts
"""

import numpy as np

from gpukit import cuda

TILE = 32


@cuda.jit
def quarter_turn(image, out):
    tile = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    rows, columns = image.shape
    for k in range(ty, TILE, cuda.blockDim.y):
        if top + k < rows and left + tx < columns:
            tile[k, tx] = image[top + k, left + tx]
    cuda.syncthreads()
    for k in range(ty, TILE, cuda.blockDim.y):
        if top + tx < rows and left + k < columns:
            out[left + k, rows - 1 - top - tx] = tile[tx, k]
