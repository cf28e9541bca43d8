"""A block of 256 threads taken for granted.

Fails:
    test_1_3_right: wrong answer
"""

from gpukit import cuda


@cuda.jit
def clip(x, low, high, y):
    i = cuda.blockIdx.x * 256 + cuda.threadIdx.x
    if i < x.size:
        y[i] = max(low, min(x[i], high))
