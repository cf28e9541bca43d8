"""`warp_sum` called by the lanes alone that had a purchase to look at.

Fails:
    test_2_5_right: shuffle
"""

from gpukit import cuda
from gpukit.warp import warp_sum


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    customer = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if customer < out.size and lane < count[customer]:
        dear = 0
        for k in range(lane, count[customer], 32):
            if cents[first[customer] + k] >= limit:
                dear += 1
        dear = warp_sum(dear)
        if lane == 0:
            out[customer] = dear
