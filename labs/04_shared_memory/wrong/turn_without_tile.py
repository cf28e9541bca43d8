"""The turn happens in global memory: right, and every lane stores into a sector of its own.

Fails:
    test_4_4_coalesced: global_store_sectors
"""

from gpukit import cuda

TILE = 32


@cuda.jit
def quarter_turn(image, out):
    rows, columns = image.shape
    column = cuda.grid(1)
    for k in range(cuda.threadIdx.y, TILE, cuda.blockDim.y):
        row = cuda.blockIdx.y * TILE + k
        if row < rows and column < columns:
            out[column, rows - 1 - row] = image[row, column]
