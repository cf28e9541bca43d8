"""The sum of a block in shared memory, as it should be and as it is often written."""

import numpy as np

from gpukit import cuda


@cuda.jit
def block_sum(x, partial):
    """One element per thread, blocks of 256; every step waits for the one before."""
    tile = cuda.shared.array(256, np.int32)
    tid = cuda.threadIdx.x
    tile[tid] = x[cuda.grid(1)]
    cuda.syncthreads()
    stride = 128
    while stride > 0:
        if tid < stride:
            tile[tid] += tile[tid + stride]
        cuda.syncthreads()
        stride //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


@cuda.jit
def block_sum_without_barrier(x, partial):
    """The same with the barrier of the loop left out: a thread may read a sum that is not there yet."""
    tile = cuda.shared.array(256, np.int32)
    tid = cuda.threadIdx.x
    tile[tid] = x[cuda.grid(1)]
    cuda.syncthreads()
    stride = 128
    while stride > 0:
        if tid < stride:
            tile[tid] += tile[tid + stride]
        stride //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]
