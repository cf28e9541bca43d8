"""The kernel of given.py: its full mask stands in a branch that not all lanes enter.

Fails:
    test_6_3_right: shuffle_mask_names_absent_lane
    test_6_3_cost: shuffle_mask_names_absent_lane
"""

from numba import cuda


@cuda.jit
def below_maximum(x, y):
    i = cuda.grid(1)
    if i < x.size:
        largest = x[i]
        for offset in (16, 8, 4, 2, 1):
            largest = max(largest, cuda.shfl_xor_sync(FULL, largest, offset))
        y[i] = x[i] - largest
