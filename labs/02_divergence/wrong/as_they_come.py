"""Right, but the order is not used: short customers wait for long ones.

Fails:
    test_2_4_cost: warp_instructions
"""

from gpukit import cuda


@cuda.jit
def ranges(first, count, cents, order, out):
    customer = cuda.grid(1)
    if customer < order.size:
        smallest, largest = 10_000, 0
        for k in range(first[customer], first[customer] + count[customer]):
            smallest = min(smallest, cents[k])
            largest = max(largest, cents[k])
        out[customer] = max(0, largest - smallest)
