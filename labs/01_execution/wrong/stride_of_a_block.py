"""A stride of one block instead of the grid: blocks write what other blocks write too.

Fails:
    test_1_5_right: race_global_interblock
    test_1_5_cost: race_global_interblock
"""

from gpukit import cuda


@cuda.jit
def differences(x, y):
    for i in range(cuda.grid(1), y.size, cuda.blockDim.x):
        y[i] = x[i + 1] - x[i]
