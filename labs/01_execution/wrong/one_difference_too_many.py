"""As many differences as numbers.

Fails:
    test_1_5_right: oob_global_read
    test_1_5_cost: oob_global_read
"""

from gpukit import cuda


@cuda.jit
def differences(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = x[i + 1] - x[i]
