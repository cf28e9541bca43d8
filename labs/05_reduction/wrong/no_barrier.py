"""The tree has no barrier: right on this machine's order of warps or not, it is a race.

Fails:
    test_5_2_right: race_shared
    test_5_2_any_block: race_shared
    test_5_2_ties: race_shared
    test_5_2_cost: race_shared
    test_5_7_right: race_shared
    test_5_7_many_blocks: race_shared
    test_5_7_ties: race_shared
    test_5_7_cost: race_shared
"""

from numba import cuda


@cuda.jit(device=True)
def fold(best, where):
    t = cuda.threadIdx.x
    width = cuda.blockDim.x
    while width > 1:
        half = (width + 1) // 2
        if t + half < width:
            if beats(best[t + half], where[t + half], best[t], where[t]):
                best[t] = best[t + half]
                where[t] = where[t + half]
        width = half
