"""Each thread takes a run of neighbours, so that a warp's loads are far apart.

Fails:
    test_5_3_cost: global_load_sectors
"""

import numpy as np
from numba import cuda


@cuda.jit
def dot(a, b, partial):
    sums = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    run = (a.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    total = np.float32(0)
    for k in range(run):
        i = cuda.grid(1) * run + k
        if i < a.size:
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
