"""The guard of the store is the guard of the load: at the edges it lets in the wrong threads.

Fails:
    test_4_4_right: oob_global_write
"""

import numpy as np

from gpukit import cuda

TILE = 32


@cuda.jit
def quarter_turn(image, out):
    tile = cuda.shared.array((TILE, 33), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    rows, columns = image.shape
    for k in range(ty, TILE, cuda.blockDim.y):
        if top + k < rows and left + tx < columns:
            tile[k, tx] = image[top + k, left + tx]
    cuda.syncthreads()
    for k in range(ty, TILE, cuda.blockDim.y):
        if top + k < rows and left + tx < columns:
            out[left + k, rows - 1 - top - tx] = tile[tx, k]
