"""The block taken for one group of 96 threads.

Fails:
    test_2_2_right: wrong answer
    test_2_2_cost: wrong answer
"""

from gpukit import cuda


@cuda.jit
def curves(values, out):
    colour = cuda.threadIdx.x // 32
    i = cuda.blockIdx.x * 96 + cuda.threadIdx.x % 32 * 3 + colour
    if i < values.size:
        if colour == 0:
            out[i] = red(values[i])
        elif colour == 1:
            out[i] = green(values[i])
        else:
            out[i] = blue(values[i])
