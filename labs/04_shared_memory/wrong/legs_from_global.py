"""No tiles: right, and every length is loaded once for every element of c that needs it.

Fails:
    test_4_7_cost: global_load_requests
"""

import math

import numpy as np

from gpukit import cuda


@cuda.jit
def two_legs(a, b, c):
    j, i = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        best = np.float32(math.inf)
        for k in range(a.shape[1]):
            best = min(best, a[i, k] + b[k, j])
        c[i, j] = best
