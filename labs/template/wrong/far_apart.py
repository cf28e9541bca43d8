"""Right, but neighbouring lanes are 8 elements apart: the cost test is for this.

Fails:
    test_42_2_cost: global_load_sectors
"""

from gpukit import cuda


@cuda.jit
def reverse(x, y):
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 128 + t % 16 * 8 + t // 16
    if i < x.size:
        y[x.size - 1 - i] = x[i]
