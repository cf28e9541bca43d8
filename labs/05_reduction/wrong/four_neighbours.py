"""Each thread takes four neighbours: a warp's loads lie 16 bytes apart, as if it were one load of 16 bytes.

Fails:
    test_5_6_cost: global_load_sectors
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
        mine ^= x[4 * i] ^ x[4 * i + 1] ^ x[4 * i + 2] ^ x[4 * i + 3]
        i += cuda.gridsize(1)
    rest = 4 * quarter + cuda.grid(1)
    if rest < x.size:
        mine ^= x[rest]
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
