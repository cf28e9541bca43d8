"""Shuffles down, then one by one the lanes get the largest of lane 0 in 5 more exchanges: twice what it takes.

Fails:
    test_6_3_cost: warp_synchronisations
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def below_maximum(x, y):
    i = cuda.grid(1)
    mine = x[i] if i < x.size else np.float32(-math.inf)
    largest = mine
    for offset in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_down_sync(FULL, largest, offset))
    for offset in (1, 2, 4, 8, 16):
        largest = max(largest, cuda.shfl_up_sync(FULL, largest, offset))
    if i < x.size:
        y[i] = mine - largest
