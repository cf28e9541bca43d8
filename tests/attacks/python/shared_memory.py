"""More shared memory than any GPU has.

Deserves: 0 points
Named: the shared arrays of the kernel have 8,000,000,000,000 bytes
"""

import numpy as np
from numba import cuda


@cuda.jit
def dot(a, b, partial):
    sums = cuda.shared.array(1_000_000_000_000, np.float64)
    sums[cuda.threadIdx.x] = 0
