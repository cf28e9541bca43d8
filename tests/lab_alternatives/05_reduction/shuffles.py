"""Warps fold by shuffles wherever that will do, and the moments are those of the distances from x[0].

The trees of 5.3, 5.4 and 5.6 have one slot of shared memory a warp; 5.2 rounds the block up to a power of two; in 5.7
the blocks' answers are compared by one thread, and the counter is an ordinary one that is set back.
"""

import math

import numpy as np
from numba import cuda

from gpukit.warp import warp_sum

WARPS = 8


@cuda.jit(device=True)
def beats(value, index, other_value, other_index):
    if value == other_value:
        return index < other_index
    return value > other_value


@cuda.jit(device=True)
def fold(best, where):
    t = cuda.threadIdx.x
    stride = 1
    while 2 * stride < cuda.blockDim.x:
        stride *= 2
    while stride > 0:
        if t < stride and t + stride < cuda.blockDim.x:
            value, index = best[t + stride], where[t + stride]
            if beats(value, index, best[t], where[t]):
                best[t], where[t] = value, index
        cuda.syncthreads()
        stride //= 2


@cuda.jit
def dot(a, b, partial):
    of_warp = cuda.shared.array(WARPS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    total = warp_sum(total)
    if t % 32 == 0:
        of_warp[t // 32] = total
    cuda.syncthreads()
    if t == 0:
        total = np.float32(0)
        for w in range(cuda.blockDim.x // 32):
            total += of_warp[w]
        partial[cuda.blockIdx.x] = total


@cuda.jit
def largest_magnitude(x, partial):
    of_warp = cuda.shared.array(WARPS, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    size = abs(x[i]) if i < x.size else np.float32(0)
    for offset in (16, 8, 4, 2, 1):
        size = max(size, cuda.shfl_xor_sync(FULL, size, offset))
    if t % 32 == 0:
        of_warp[t // 32] = size
    cuda.syncthreads()
    if t == 0:
        for w in range(1, cuda.blockDim.x // 32):
            size = max(size, of_warp[w])
        partial[cuda.blockIdx.x] = size


@cuda.jit
def moments(x, out):
    counts = cuda.shared.array(BLOCK, np.float64)
    sums = cuda.shared.array(BLOCK, np.float64)
    squares = cuda.shared.array(BLOCK, np.float64)
    t = cuda.threadIdx.x
    count, total, square = 0.0, 0.0, 0.0
    shift = x[0]
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        distance = x[i] - shift
        count += 1.0
        total += distance
        square += distance * distance
    counts[t] = count
    sums[t] = total
    squares[t] = square
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            counts[t] += counts[t + stride]
            sums[t] += sums[t + stride]
            squares[t] += squares[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t < 3:
        out[cuda.blockIdx.x, t] = 0.0
    cuda.syncthreads()
    if t == 0 and counts[0] > 0.0:
        out[cuda.blockIdx.x, 0] = counts[0]
        out[cuda.blockIdx.x, 1] = shift + sums[0] / counts[0]
        out[cuda.blockIdx.x, 2] = squares[0] - sums[0] * sums[0] / counts[0]


@cuda.jit
def checksum(x, total):
    of_warp = cuda.shared.array(WARPS, np.int32)
    t = cuda.threadIdx.x
    quarter = x.size // 4
    mine = np.int32(0)
    for i in range(cuda.grid(1), quarter, cuda.gridsize(1)):
        mine ^= x[i]
        mine ^= x[i + quarter]
        mine ^= x[i + 2 * quarter]
        mine ^= x[i + 3 * quarter]
    for i in range(4 * quarter + cuda.grid(1), x.size, cuda.gridsize(1)):
        mine ^= x[i]
    for offset in (16, 8, 4, 2, 1):
        mine ^= cuda.shfl_down_sync(FULL, mine, offset)
    if t % 32 == 0:
        of_warp[t // 32] = mine
    cuda.syncthreads()
    if t == 0:
        for w in range(1, cuda.blockDim.x // 32):
            mine ^= of_warp[w]
        cuda.atomic.xor(total, 0, mine)


@cuda.jit
def argmax(x, found, best, done):
    values = cuda.shared.array(BLOCK, np.float32)
    where = cuda.shared.array(BLOCK, np.int32)
    t = cuda.threadIdx.x
    values[t] = -math.inf
    where[t] = x.size
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        if beats(x[i], i, values[t], where[t]):
            values[t] = x[i]
            where[t] = i
    cuda.syncthreads()
    fold(values, where)
    if t == 0:
        found[cuda.blockIdx.x] = where[0]
        cuda.threadfence()
        if cuda.atomic.add(done, 0, 1) == cuda.gridDim.x - 1:
            cuda.threadfence()
            value = np.float32(-math.inf)
            index = x.size
            for k in range(found.size):
                i = found[k]
                if i < x.size and beats(x[i], i, value, index):
                    value, index = x[i], i
            best[0] = index
            done[0] = 0
