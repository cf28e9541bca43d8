"""Right, with a conditional expression, which is a branch as well.

Fails:
    test_2_3_cost: divergent_branches
"""

from gpukit import cuda


@cuda.jit
def shrink(x, t, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] - t if x[i] > t else (x[i] + t if x[i] < -t else x.dtype.type(0))
