"""Full warps, but their slots are 2, 4, 8 ... apart: bank conflicts.

Fails:
    test_5_2_cost: shared_load_bank_conflicts
"""

from numba import cuda


@cuda.jit(device=True)
def fold(best, where):
    stride = 1
    while stride < cuda.blockDim.x:
        k = 2 * stride * cuda.threadIdx.x
        if k + stride < cuda.blockDim.x:
            if beats(best[k + stride], where[k + stride], best[k], where[k]):
                best[k] = best[k + stride]
                where[k] = where[k + stride]
        cuda.syncthreads()
        stride *= 2
