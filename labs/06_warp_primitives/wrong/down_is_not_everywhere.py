"""Shuffles down leave the largest in lane 0 alone.

Fails:
    test_6_3_right: wrong answer
    test_6_3_cost: wrong answer
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
    if i < x.size:
        y[i] = mine - largest
