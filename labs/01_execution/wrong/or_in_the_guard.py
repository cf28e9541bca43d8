"""A pixel taken for inside if its row or its column is: threads beyond one edge work, some on the next row.

Fails:
    test_1_4_grey: oob_global_write
"""

from gpukit import cuda


@cuda.jit
def grey(image, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] or column < out.shape[1]:
        red, green, blue = image[row, column, 0], image[row, column, 1], image[row, column, 2]
        out[row, column] = (77 * red + 150 * green + 29 * blue) // 256
