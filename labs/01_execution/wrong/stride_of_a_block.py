"""A stride of one block instead of the grid: right, but blocks do again what the ones behind them do too.

Fails:
    test_1_5_cost: global_load_sectors
"""

from gpukit import cuda


@cuda.jit
def differences(x, y):
    for i in range(cuda.grid(1), y.size, cuda.blockDim.x):
        y[i] = x[i + 1] - x[i]
