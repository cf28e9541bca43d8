"""One element a turn: right, with four times the tests of the loop.

Fails:
    test_5_6_cost: branches
"""

import numpy as np
from numba import cuda


@cuda.jit
def checksum(x, total):
    sums = cuda.shared.array(BLOCK, np.int32)
    t = cuda.threadIdx.x
    mine = 0
    i = cuda.grid(1)
    while i < x.size:
        mine ^= x[i]
        i += cuda.gridsize(1)
    sums[t] = mine
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            sums[t] ^= sums[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        cuda.atomic.xor(total, 0, sums[0])
