"""The kernel that task 5.1 asks about. Read it first; profile it when you have your answers:

gpukit profile labs/05_reduction/given.py:naive_maximum --grid 1 --block 128 -a 'int32[256]:arange' -a 'int32[1]'
"""

from numba import cuda


@cuda.jit
def naive_maximum(x, largest):
    """The largest of each block's 2T elements, T threads a block: a tree in global memory that destroys x.

    Args:
        x: int32 (2T * blocks,), changed: what is left of it means nothing.
        largest: int32 (blocks,), set.
    """
    t = cuda.threadIdx.x
    start = 2 * cuda.blockIdx.x * cuda.blockDim.x
    stride = 1
    while stride <= cuda.blockDim.x:
        if t % stride == 0:
            x[start + 2 * t] = max(x[start + 2 * t], x[start + 2 * t + stride])
        cuda.syncthreads()
        stride *= 2
    if t == 0:
        largest[cuda.blockIdx.x] = x[start]
