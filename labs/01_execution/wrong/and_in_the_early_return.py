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
    out[row, column] = (77 * image[row, column, 0] + 150 * image[row, column, 1] + 29 * image[row, column, 2]) // 256
