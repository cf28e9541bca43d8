"""Every thread makes as many rounds as all can: what is left at the end of the data is dropped.

Fails:
    test_5_3_right: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def dot(a, b, partial):
    sums = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for k in range(a.size // cuda.gridsize(1)):
        i = cuda.grid(1) + k * cuda.gridsize(1)
        total += a[i] * b[i]
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
