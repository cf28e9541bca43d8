"""The mask names those that are in the branch, but a butterfly reads from lanes that are not.

Fails:
    test_6_3_right: shuffle_inactive_source
    test_6_3_cost: shuffle_inactive_source
"""

from numba import cuda


@cuda.jit
def below_maximum(x, y):
    i = cuda.grid(1)
    if i < x.size:
        there = cuda.activemask()
        largest = x[i]
        for offset in (16, 8, 4, 2, 1):
            largest = max(largest, cuda.shfl_xor_sync(there, largest, offset))
        y[i] = x[i] - largest
