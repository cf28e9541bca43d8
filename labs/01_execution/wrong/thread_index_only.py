"""threadIdx without blockIdx: every block works on the first elements.

Fails:
    test_1_3_right: wrong answer
"""

from gpukit import cuda


@cuda.jit
def clip(x, low, high, y):
    i = cuda.threadIdx.x
    if i < x.size:
        y[i] = max(low, min(x[i], high))
