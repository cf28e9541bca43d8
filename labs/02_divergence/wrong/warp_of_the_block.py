"""The warp's number within its block taken for the customer's.

Fails:
    test_2_5_right: wrong answer
    test_2_5_cost: wrong answer
"""

from gpukit import cuda
from gpukit.warp import warp_sum


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    customer = cuda.threadIdx.x // 32
    lane = cuda.threadIdx.x % 32
    if customer < out.size:
        dear = 0
        for k in range(lane, count[customer], 32):
            if cents[first[customer] + k] >= limit:
                dear += 1
        dear = warp_sum(dear)
        if lane == 0:
            out[customer] = dear
