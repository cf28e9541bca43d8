"""mine[b] += 1 is a load, an addition and a store: of threads that meet in a bin, one survives.

Fails:
    test_4_6_right: race_shared
    test_4_6_cost: race_shared
"""

import numpy as np

from gpukit import cuda

BINS = 100


@cuda.jit
def histogram(x, counts):
    mine = cuda.shared.array(BINS, np.int32)
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        mine[x[i]] += 1
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, b, mine[b])
