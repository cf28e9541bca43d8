"""Numbers between -t and t become negative or positive instead of 0.

Fails:
    test_2_3_right: wrong answer
    test_2_3_cost: wrong answer
"""

from gpukit import cuda


@cuda.jit
def shrink(x, t, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] - cuda.selp(x[i] > 0, t, -t)
