"""Lanes without an element bring key 0 and are counted with it.

Fails:
    test_6_7_right: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def histogram(key, counts):
    i = cuda.grid(1)
    mine = key[i] if i < key.size else np.int32(0)
    same = cuda.match_any_sync(FULL, mine)
    if cuda.popc(same & cuda.lanemask_lt()) == 0:
        cuda.atomic.add(counts, mine, cuda.popc(same))
