"""Of equal elements the one that lane 0 has met first wins: not always the one with the smaller index.

Fails:
    test_6_2_ties: wrong answer
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def warp_argmax(x, where):
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(-math.inf)
    index = np.int32(i)
    for offset in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(FULL, value, offset)
        other_index = cuda.shfl_down_sync(FULL, index, offset)
        if other > value:
            value, index = other, other_index
    if cuda.laneid == 0 and i < x.size:
        where[i // 32] = index
