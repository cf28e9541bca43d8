"""7.3 returns early by warps; 7.4 shuffles down with a test; 7.6 gathers all slots at once.

7.7 makes lists, slot by slot; 7.9 takes the mean alone, and a thread for rows of up to 2.
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    row = (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) >> 5
    lane = cuda.laneid
    if row >= y.size:
        return
    part = np.float32(0)
    at = indptr[row] + lane
    stop = indptr[row + 1]
    while at < stop:
        part += data[at] * x[indices[at]]
        at += 32
    for step in (16, 8, 4, 2, 1):
        part += cuda.shfl_xor_sync(FULL, part, step)
    if lane == 0:
        y[row] = part


@cuda.jit
def csr_subwarp(indptr, indices, data, x, y, lanes):
    t = cuda.grid(1)
    row = t // lanes
    mine = t & (lanes - 1)
    there = row < y.size
    at = 0
    stop = 0
    if there:
        at = indptr[row] + mine
        stop = indptr[row + 1]
    part = np.float32(0)
    while at < stop:
        part += data[at] * x[indices[at]]
        at += lanes
    d = lanes >> 1
    while d:
        other = cuda.shfl_down_sync(FULL, part, d)
        if mine + d < lanes:
            part += other
        d >>= 1
    if there and mine == 0:
        y[row] = part


def to_ell(indptr, indices, data):
    lengths = np.diff(indptr)
    width = int(lengths.max(initial=0))
    at = indptr[:-1] + np.arange(width, dtype=np.int64)[:, None]
    there = at < indptr[1:]
    columns = np.where(there, np.append(indices, -1)[np.minimum(at, indices.size)], -1).astype(np.int32)
    values = np.where(there, np.append(data, 0)[np.minimum(at, indices.size)], 0).astype(np.float32)
    return columns, values


def to_sliced_ell(indptr, indices, data, permutation, height):
    slices = -(-len(permutation) // height)
    offsets = [0]
    columns = []
    values = []
    for s in range(slices):
        rows = list(permutation[s * height : (s + 1) * height])
        width = max(indptr[r + 1] - indptr[r] for r in rows)
        for k in range(width):
            for p in range(height):
                if p < len(rows) and indptr[rows[p]] + k < indptr[rows[p] + 1]:
                    columns.append(indices[indptr[rows[p]] + k])
                    values.append(data[indptr[rows[p]] + k])
                else:
                    columns.append(-1)
                    values.append(0)
        offsets.append(len(columns))
    return np.array(offsets, np.int32), np.array(columns, np.int32), np.array(values, np.float32)


def choose(lengths):
    if lengths.size == 0:
        return 1, 1
    mean = lengths.mean()
    if mean <= 2:
        return 1, 1
    lanes = 2
    while lanes < 32 and lanes < mean:
        lanes *= 2
    return lanes, 1
