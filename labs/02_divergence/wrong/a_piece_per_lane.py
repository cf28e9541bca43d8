"""Right, with a piece of neighbouring purchases for each lane: 32 sectors in every round.

Fails:
    test_2_5_cost: global_load_sectors
"""

from gpukit import cuda
from gpukit.warp import warp_sum


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    customer = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if customer < out.size:
        piece = (count[customer] + 31) // 32
        dear = 0
        for k in range(lane * piece, min(lane * piece + piece, count[customer])):
            if cents[first[customer] + k] >= limit:
                dear += 1
        dear = warp_sum(dear)
        if lane == 0:
            out[customer] = dear
