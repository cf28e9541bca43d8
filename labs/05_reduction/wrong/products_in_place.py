"""The products are put where the first vector was.

Fails:
    test_5_3_right: the input `a` was changed
    test_5_3_cost: the input `a` was changed
"""

import numpy as np
from numba import cuda


@cuda.jit
def dot(a, b, partial):
    sums = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    i = cuda.grid(1)
    while i < a.size:
        a[i] *= b[i]
        total += a[i]
        i += cuda.gridsize(1)
    sums[t] = total
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            sums[t] += sums[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = sums[0]
