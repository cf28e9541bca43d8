"""Read shared memory that nobody has filled: zeros, with luck.

Deserves: 0 points
Named: uninit_shared_read
"""

import numpy as np
from numba import cuda


@cuda.jit
def dot(a, b, partial):
    sums = cuda.shared.array(1, np.float32)
    total = sums[0]
    if cuda.threadIdx.x == 0:
        for i in range(cuda.blockIdx.x, a.size, cuda.gridDim.x):
            total += a[i] * b[i]
        partial[cuda.blockIdx.x] = total
