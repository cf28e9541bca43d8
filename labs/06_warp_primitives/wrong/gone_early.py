"""Threads without an element return, and the others' masks still name them.

Fails:
    test_6_2_right: shuffle_mask_names_absent_lane
    test_6_2_ties: shuffle_mask_names_absent_lane
"""

from numba import cuda


@cuda.jit
def warp_argmax(x, where):
    i = cuda.grid(1)
    if i >= x.size:
        return
    value, index = x[i], i
    for offset in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(FULL, value, offset)
        other_index = cuda.shfl_down_sync(FULL, index, offset)
        if other > value or (other == value and other_index < index):
            value, index = other, other_index
    if cuda.laneid == 0:
        where[i // 32] = index
