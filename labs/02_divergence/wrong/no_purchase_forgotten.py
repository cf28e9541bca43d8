"""A customer without a purchase gets 0 - 10,000.

Fails:
    test_2_4_right: two customers have no purchase
    test_2_4_cost: wrong answer
"""

from gpukit import cuda


@cuda.jit
def ranges(first, count, cents, order, out):
    t = cuda.grid(1)
    if t < order.size:
        customer = order[t]
        smallest, largest = 10_000, 0
        for k in range(first[customer], first[customer] + count[customer]):
            smallest = min(smallest, cents[k])
            largest = max(largest, cents[k])
        out[customer] = largest - smallest
