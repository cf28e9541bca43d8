"""The guard goes with the other branches.

Fails:
    test_2_3_right: oob_global_write
"""

from gpukit import cuda


@cuda.jit
def shrink(x, t, y):
    i = cuda.grid(1)
    y[i] = x[i] - max(-t, min(x[i], t))
