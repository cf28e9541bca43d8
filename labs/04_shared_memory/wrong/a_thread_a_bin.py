"""A thread clears and merges one bin: a block with fewer threads than bins forgets the last ones.

Fails:
    test_4_6_right: uninit_shared_read
    test_4_6_cost: uninit_shared_read
"""

import numpy as np

from gpukit import cuda

BINS = 100


@cuda.jit
def histogram(x, counts):
    mine = cuda.shared.array(BINS, np.int32)
    t = cuda.threadIdx.x
    if t < BINS:
        mine[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(counts, t, mine[t])
