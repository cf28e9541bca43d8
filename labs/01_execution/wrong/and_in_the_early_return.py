"""`and` for `or` where the threads outside return: one that is outside in one dimension goes on.

Fails:
    test_1_4_grey: oob_global_write
"""

from gpukit import cuda


@cuda.jit
def grey(image, out):
    column, row = cuda.grid(2)
    if row >= out.shape[0] and column >= out.shape[1]:
        return
    red, green, blue = image[row, column, 0], image[row, column, 1], image[row, column, 2]
    out[row, column] = (77 * red + 150 * green + 29 * blue) // 256
