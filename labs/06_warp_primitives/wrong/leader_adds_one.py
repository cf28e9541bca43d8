"""The leader of a group adds 1, not the number of its lanes.

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
    if mine >= 0 and cuda.popc(same & cuda.lanemask_lt()) == 0:
        cuda.atomic.add(counts, mine, 1)
