"""No guard: the last block reads and writes past the end.

Fails:
    test_1_3_right: oob_global_write
"""

from gpukit import cuda


@cuda.jit
def clip(x, low, high, y):
    i = cuda.grid(1)
    y[i] = max(low, min(x[i], high))
