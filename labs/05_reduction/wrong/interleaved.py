"""The threads at work are every second, every fourth ...: right, and every warp diverges.

Fails:
    test_5_2_cost: divergent_branches
"""

from numba import cuda


@cuda.jit(device=True)
def fold(best, where):
    t = cuda.threadIdx.x
    stride = 1
    while stride < cuda.blockDim.x:
        if t % (2 * stride) == 0 and t + stride < cuda.blockDim.x:
            if beats(best[t + stride], where[t + stride], best[t], where[t]):
                best[t] = best[t + stride]
                where[t] = where[t + stride]
        cuda.syncthreads()
        stride *= 2
