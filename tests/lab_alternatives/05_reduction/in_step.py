"""What many write: two barriers a step (all have read, all have written), and syncwarp at the end."""

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def fold(best, where):
    t = cuda.threadIdx.x
    width = cuda.blockDim.x
    while width > 1:
        half = width - width // 2
        partner = t + half if t + half < width else t
        value = best[partner] if t < half else np.float32(0)
        index = where[partner] if t < half else 0
        cuda.syncthreads()
        if t < half and beats(value, index, best[t], where[t]):
            best[t] = value
            where[t] = index
        cuda.syncthreads()
        width = half


@cuda.jit
def largest_magnitude(x, partial):
    sizes = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    sizes[t] = abs(x[i]) if i < x.size else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 32:
        if t < stride:
            sizes[t] = max(sizes[t], sizes[t + stride])
        cuda.syncthreads()
        stride //= 2
    if t < 32:
        while stride > 0:
            size = sizes[t + stride] if t < stride else np.float32(0)
            cuda.syncwarp()
            sizes[t] = max(sizes[t], size)
            cuda.syncwarp()
            stride //= 2
        if t == 0:
            partial[cuda.blockIdx.x] = sizes[0]
