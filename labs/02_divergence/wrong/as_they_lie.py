"""Right, with the value at the thread's own number: each warp runs all three curves.

Fails:
    test_2_2_cost: divergent_branches
"""

from gpukit import cuda


@cuda.jit
def curves(values, out):
    i = cuda.grid(1)
    if i < values.size:
        if i % 3 == 0:
            out[i] = red(values[i])
        elif i % 3 == 1:
            out[i] = green(values[i])
        else:
            out[i] = blue(values[i])
