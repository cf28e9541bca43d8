"""Right, but lane 0 reads all purchases of its customer while 31 lanes wait.

Fails:
    test_2_5_cost: active_lanes_per_instruction
"""

from gpukit import cuda


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    customer = cuda.grid(1) // 32
    if customer < out.size and cuda.threadIdx.x % 32 == 0:
        dear = 0
        for k in range(count[customer]):
            if cents[first[customer] + k] >= limit:
                dear += 1
        out[customer] = dear
