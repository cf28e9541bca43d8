"""`+=` on the customer's place from 32 lanes: lost updates.

Fails:
    test_2_5_right: race_global
    test_2_5_cost: race_global
"""

from gpukit import cuda


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    customer = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if customer < out.size:
        dear = 0
        for k in range(lane, count[customer], 32):
            if cents[first[customer] + k] >= limit:
                dear += 1
        out[customer] += dear
