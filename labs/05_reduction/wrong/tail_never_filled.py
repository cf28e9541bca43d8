"""Threads without an element fill no slot, and the tree reads what nobody wrote.

Fails:
    test_5_2_right: uninit_shared_read
    test_5_2_any_block: uninit_shared_read
    test_5_2_ties: uninit_shared_read
"""

import numpy as np
from numba import cuda


@cuda.jit
def block_argmax(x, value, index):
    best = cuda.shared.array(BLOCK, np.float32)
    where = cuda.shared.array(BLOCK, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        best[t] = x[i]
        where[t] = i
    cuda.syncthreads()
    fold(best, where)
    if t == 0:
        value[cuda.blockIdx.x] = best[0]
        index[cuda.blockIdx.x] = where[0]
