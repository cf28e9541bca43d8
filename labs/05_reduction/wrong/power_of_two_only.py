"""The tree halves the block, so that the last slot of an odd width is lost.

Fails:
    test_5_2_any_block: wrong answer
"""

from numba import cuda


@cuda.jit(device=True)
def fold(best, where):
    t = cuda.threadIdx.x
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            if beats(best[t + stride], where[t + stride], best[t], where[t]):
                best[t] = best[t + stride]
                where[t] = where[t + stride]
        cuda.syncthreads()
        stride //= 2
