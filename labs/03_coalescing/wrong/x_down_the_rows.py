"""x of the grid is the row: right, and the lanes of a warp are a whole row apart.

Fails:
    test_3_2_cost: global_load_sectors
"""

from gpukit import cuda


@cuda.jit
def half_turn(image, out):
    row, column = cuda.grid(2)
    rows, columns = image.shape
    if row < rows and column < columns:
        out[row, column] = image[rows - 1 - row, columns - 1 - column]
