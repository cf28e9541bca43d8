"""Infinity less infinity is within no bound.

Deserves: 0 points
Named: wrong answer
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def dot(a, b, partial):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = np.float32(math.inf)
