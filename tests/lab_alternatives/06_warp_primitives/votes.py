"""Votes in place of pairs, gpukit.warp in the split, loops over the slots, one ballot a bin.

The index of 6.2 is found by a ballot of the lanes that have the largest; in 6.4 a lane reads itself where there is no
lane above; 6.5 scans the warps' counts with gpukit.warp and stores by way of shared memory, so that the stores are side
by side; 6.6 takes the maximum of the warps before in a loop, with one barrier; 6.7 has a ballot for each bin.
"""

import math

import numpy as np
from numba import cuda

from gpukit.warp import place_among, warp_scan


@cuda.jit
def warp_argmax(x, where):
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(-math.inf)
    largest = value
    for offset in (1, 2, 4, 8, 16):
        largest = max(largest, cuda.shfl_xor_sync(FULL, largest, offset))
    first = cuda.ffs(cuda.ballot_sync(FULL, value == largest)) - 1
    if cuda.laneid == 0 and i < x.size:
        where[i // 32] = i + first


@cuda.jit
def below_maximum(x, y):
    i = cuda.grid(1)
    mine = x[min(i, x.size - 1)]
    largest = mine
    offset = 1
    while offset < 32:
        largest = max(largest, cuda.shfl_xor_sync(FULL, largest, offset))
        offset *= 2
    if i < x.size:
        y[i] = mine - largest


@cuda.jit(device=True)
def warp_max(value, lanes):
    lane = cuda.laneid
    offset = 16
    while offset > 0:
        other = cuda.shfl_sync((1 << lanes) - 1, value, lane + offset if lane + offset < lanes else lane)
        value = max(value, other)
        offset //= 2
    return value


@cuda.jit
def block_max(x, out):
    of_warp = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    warps = (cuda.blockDim.x + 31) // 32
    value = np.float32(-math.inf)
    if i < x.size:
        value = x[i]
    lanes = 32
    if t // 32 == warps - 1:
        lanes = cuda.blockDim.x - 32 * (warps - 1)
    value = warp_max(value, lanes)
    if cuda.laneid == 0:
        of_warp[t // 32] = value
    cuda.syncthreads()
    if t == 0:
        for w in range(1, warps):
            value = max(value, of_warp[w])
        out[cuda.blockIdx.x] = value


@cuda.jit
def split(x, bit, y):
    of_warp = cuda.shared.array(32, np.int32)
    tile = cuda.shared.array(1024, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.int32(0)
    is_one = i < x.size and (value >> bit) & 1 == 1
    is_zero = i < x.size and not is_one
    before, many = place_among(is_zero)
    if t % 32 == 0:
        of_warp[t // 32] = many
    cuda.syncthreads()
    if t < 32:
        of_warp[t] = warp_scan(of_warp[t] if t < cuda.blockDim.x // 32 else np.int32(0))
    cuda.syncthreads()
    if t >= 32:
        before += of_warp[t // 32 - 1]
    zeros = of_warp[cuda.blockDim.x // 32 - 1]
    if is_zero:
        tile[before] = value
    if is_one:
        tile[zeros + t - before] = value
    cuda.syncthreads()
    if i < x.size:
        y[i] = tile[t]


@cuda.jit
def running_max(x, y):
    of_warp = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    warp = t // 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(-math.inf)
    for offset in (1, 2, 4, 8, 16):
        below = cuda.shfl_up_sync(FULL, value, offset)
        if cuda.laneid >= offset:
            value = max(value, below)
    if cuda.laneid == 31:
        of_warp[warp] = value
    cuda.syncthreads()
    for w in range(warp):
        value = max(value, of_warp[w])
    if i < x.size:
        y[i] = value


@cuda.jit
def histogram(key, counts):
    i = cuda.grid(1)
    mine = key[i] if i < key.size else np.int32(-1)
    for k in range(counts.size):
        votes = cuda.ballot_sync(FULL, mine == k)
        if cuda.laneid == 0 and votes != 0:
            cuda.atomic.add(counts, k, cuda.popc(votes))
