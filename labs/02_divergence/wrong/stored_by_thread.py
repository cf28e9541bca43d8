"""The result is stored at the thread's place, not at the customer's.

Fails:
    test_2_4_right: wrong answer
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
        out[t] = max(0, largest - smallest)
