"""n is divided by 4, and what is left over is forgotten.

Fails:
    test_5_6_right: wrong answer
    test_5_6_cost: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def checksum(x, total):
    sums = cuda.shared.array(BLOCK, np.int32)
    t = cuda.threadIdx.x
    quarter = x.size // 4
    mine = 0
    i = cuda.grid(1)
    while i < quarter:
        mine ^= x[i] ^ x[i + quarter] ^ x[i + 2 * quarter] ^ x[i + 3 * quarter]
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
