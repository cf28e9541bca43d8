"""`<=` in the guard: one thread past the end works.

Fails:
    test_1_3_right: oob_global_read
"""

from gpukit import cuda


@cuda.jit
def clip(x, low, high, y):
    i = cuda.grid(1)
    if i <= x.size:
        y[i] = max(low, min(x[i], high))
