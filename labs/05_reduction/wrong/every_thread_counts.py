"""All threads of a block count it, not one.

Fails:
    test_5_7_right: wrong answer
    test_5_7_many_blocks: wrong answer
    test_5_7_cost: wrong answer
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def argmax(x, found, best, done):
    values = cuda.shared.array(BLOCK, np.float32)
    where = cuda.shared.array(BLOCK, np.int32)
    is_last = cuda.shared.array(1, np.int32)
    t = cuda.threadIdx.x
    blocks = cuda.gridDim.x
    value, index = np.float32(-math.inf), x.size
    i = cuda.grid(1)
    while i < x.size:
        candidate = x[i]
        if beats(candidate, i, value, index):
            value, index = candidate, i
        i += cuda.gridsize(1)
    values[t] = value
    where[t] = index
    cuda.syncthreads()
    fold(values, where)
    if t == 0:
        found[cuda.blockIdx.x] = where[0]
        cuda.threadfence()
    before = cuda.atomic.inc(done, 0, blocks - 1)
    if t == 0:
        is_last[0] = before == blocks - 1
    cuda.syncthreads()
    if is_last[0]:
        cuda.threadfence()
        value, index = np.float32(-math.inf), x.size
        k = t
        while k < blocks:
            i = found[k]
            if i < x.size and beats(x[i], i, value, index):
                value, index = x[i], i
            k += cuda.blockDim.x
        values[t] = value
        where[t] = index
        cuda.syncthreads()
        fold(values, where)
        if t == 0:
            best[0] = where[0]
