"""Right, with an `if` for each of the three cases.

Fails:
    test_2_3_cost: divergent_branches
"""

from gpukit import cuda


@cuda.jit
def shrink(x, t, y):
    i = cuda.grid(1)
    if i < x.size:
        if x[i] > t:
            y[i] = x[i] - t
        elif x[i] < -t:
            y[i] = x[i] + t
        else:
            y[i] = 0
