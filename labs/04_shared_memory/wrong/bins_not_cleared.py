"""Nobody clears the block's bins: shared memory holds whatever was there.

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
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, b, mine[b])
