"""A customer's purchases taken to end where the next one's begin: `count` is not used.

Fails:
    test_2_4_right: oob_global_read
    test_2_4_cost: oob_global_read
"""

from gpukit import cuda


@cuda.jit
def ranges(first, count, cents, order, out):
    t = cuda.grid(1)
    if t < order.size:
        customer = order[t]
        smallest, largest = 10_000, 0
        for k in range(first[customer], first[customer + 1]):
            smallest = min(smallest, cents[k])
            largest = max(largest, cents[k])
        out[customer] = max(0, largest - smallest)
