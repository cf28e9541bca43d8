"""A terabyte for every thread.

Deserves: 0 points
Named: is larger than a thread can have
"""

import numpy as np
from numba import cuda


@cuda.jit
def dot(a, b, partial):
    mine = cuda.local.array(100_000_000_000, np.float64)
    mine[cuda.threadIdx.x] = 0
    partial[0] = mine[0]
