"""The block folds in every round of the loop: right, with as many barriers as there are rounds.

Fails:
    test_5_3_cost: barriers
"""

import numpy as np
from numba import cuda


@cuda.jit
def dot(a, b, partial):
    sums = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    start = cuda.blockIdx.x * cuda.blockDim.x
    while start < a.size:
        i = start + t
        sums[t] = a[i] * b[i] if i < a.size else np.float32(0)
        cuda.syncthreads()
        stride = cuda.blockDim.x // 2
        while stride > 0:
            if t < stride:
                sums[t] += sums[t + stride]
            cuda.syncthreads()
            stride //= 2
        if t == 0:
            total += sums[0]
        cuda.syncthreads()
        start += cuda.gridsize(1)
    if t == 0:
        partial[cuda.blockIdx.x] = total
