"""y[n - i] for y[n - 1 - i]: a mistake that somebody will make.

A file in this folder holds only what it changes, and says which tests fail and what their messages contain. Exactly
these must fail. If a wrong answer passes, the tests are too weak; that is what these files are for.

Fails:
    test_42_2_right: oob_global_write
    test_42_2_cost: oob_global_write
"""

from gpukit import cuda


@cuda.jit
def reverse(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[x.size - i] = x[i]
