"""Negative numbers shrink in the wrong direction.

Fails:
    test_2_3_right: wrong answer
    test_2_3_cost: wrong answer
"""

from gpukit import cuda


@cuda.jit
def shrink(x, t, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(abs(x[i]) - t, x.dtype.type(0))
