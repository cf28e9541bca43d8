"""Lane 0 alone adds: the groups that it does not belong to are lost.

Fails:
    test_6_7_right: wrong answer
    test_6_7_cost: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def histogram(key, counts):
    i = cuda.grid(1)
    mine = key[i] if i < key.size else np.int32(-1)
    same = cuda.match_any_sync(FULL, mine)
    if mine >= 0 and cuda.laneid == 0:
        cuda.atomic.add(counts, mine, cuda.popc(same))
