"""Keep the answers of one launch for the next, in an array of the file.

Deserves: refused
Named: the call `np.zeros(...)` in a constant
"""

import numpy as np
from numba import cuda

CACHE = np.zeros(4096, np.float32)


@cuda.jit
def dot(a, b, partial):
    partial[0] = CACHE[a.size]
    CACHE[a.size] = a[0] * b[0]
