"""The numba kernels of the H200's readings (data/results/h200.json) that are in no family of gpukit.kernels."""

import numpy as np

from gpukit import cuda


@cuda.jit
def grid_stride_shared_tree(x, out):
    tile = cuda.shared.array(256, np.int32)
    tid = cuda.threadIdx.x
    total = 0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    tile[tid] = total
    cuda.syncthreads()
    stride = 128
    while stride > 0:
        if tid < stride:
            tile[tid] += tile[tid + stride]
        cuda.syncthreads()
        stride //= 2
    if tid == 0:
        cuda.atomic.add(out, 0, tile[0])


@cuda.jit
def shared_read(out, stride):
    tile = cuda.shared.array(1024, np.int32)
    tid = cuda.threadIdx.x
    tile[tid] = tid
    cuda.syncthreads()
    out[tid] = tile[tid * stride % 1024]


@cuda.jit
def copy(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]
