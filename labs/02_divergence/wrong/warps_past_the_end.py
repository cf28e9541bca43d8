"""No guard for warps that have no customer.

Fails:
    test_2_5_right: oob_global_read
"""

from gpukit import cuda
from gpukit.warp import warp_sum


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    customer = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    dear = 0
    for k in range(lane, count[customer], 32):
        if cents[first[customer] + k] >= limit:
            dear += 1
    dear = warp_sum(dear)
    if lane == 0:
        out[customer] = dear
