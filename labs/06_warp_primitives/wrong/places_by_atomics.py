"""Each thread asks two counters for its place: the order of a group is luck, whatever comes out here.

Fails:
    test_6_5_cost: shared_atomics
"""

import numpy as np
from numba import cuda


@cuda.jit
def split(x, bit, y):
    taken = cuda.shared.array(2, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.int32(0)
    one = (value >> bit) & 1
    zeros = cuda.syncthreads_count(int(i < x.size and one == 0))
    if t == 0:
        taken[0] = 0
        taken[1] = zeros
    cuda.syncthreads()
    if i < x.size:
        y[cuda.blockIdx.x * cuda.blockDim.x + cuda.atomic.add(taken, one, 1)] = value
