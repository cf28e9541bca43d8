"""NaN compares false with everything, also with a bound.

Deserves: 0 points
Named: got       total(partial) = nan
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def dot(a, b, partial):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = np.float32(math.nan)
