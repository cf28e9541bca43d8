"""Right, but the lanes exchange their counts in every round, not once at the end.

Fails:
    test_2_5_cost: warp_instructions
"""

from gpukit import cuda
from gpukit.warp import warp_sum


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    customer = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if customer < out.size:
        dear = 0
        for start in range(0, count[customer], 32):
            mine = 0
            if start + lane < count[customer] and cents[first[customer] + start + lane] >= limit:
                mine = 1
            dear += warp_sum(mine)
        if lane == 0:
            out[customer] = dear
