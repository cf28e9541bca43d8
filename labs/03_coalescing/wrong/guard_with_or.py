"""The guard lets threads through that are outside in one of the two dimensions; many stay inside the allocation.

Fails:
    test_3_2_right: oob_global_write
    test_3_2_cost: oob_global_write
"""

from gpukit import cuda


@cuda.jit
def half_turn(image, out):
    column, row = cuda.grid(2)
    rows, columns = image.shape
    if row < rows or column < columns:
        out[row, column] = image[rows - 1 - row, columns - 1 - column]
