"""Every warp starts anew: nobody tells it what came before.

Fails:
    test_6_6_right: wrong answer
    test_6_6_cost: wrong answer
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def running_max(x, y):
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(-math.inf)
    for offset in (1, 2, 4, 8, 16):
        value = max(value, cuda.shfl_up_sync(FULL, value, offset))
    if i < x.size:
        y[i] = value
