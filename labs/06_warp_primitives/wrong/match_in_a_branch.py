"""The match stands where only threads with an element come, and names all 32 lanes.

Fails:
    test_6_7_right: shuffle_mask_names_absent_lane
"""

from numba import cuda


@cuda.jit
def histogram(key, counts):
    i = cuda.grid(1)
    if i < key.size:
        same = cuda.match_any_sync(FULL, key[i])
        if cuda.popc(same & cuda.lanemask_lt()) == 0:
            cuda.atomic.add(counts, key[i], cuda.popc(same))
