"""Loops that ask for the end, shuffles down and up to lane 0, conversions by array operations, lanes by the mean.

7.2 walks over the rows in steps of the grid; 7.3 has its own butterfly; 7.4 shuffles down; 7.6 stops at the first
padding, and fills by masks; 7.7 sorts by pairs, equal rows in the reverse order, and fills slice by slice; 7.8 counts
slots; 7.9 takes no sliced ELL at all.
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    for row in range(cuda.grid(1), y.size, cuda.gridsize(1)):
        start, end = indptr[row], indptr[row + 1]
        total = np.float32(0)
        while start < end:
            total += alpha * data[start] * x[indices[start]]
            start += 1
        if beta == 0:
            y[row] = total
        else:
            y[row] = beta * y[row] + total


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    warp = cuda.grid(1) // 32
    if warp < y.size:
        total = np.float32(0)
        k = indptr[warp] + cuda.laneid
        end = indptr[warp + 1]
        while k < end:
            total += data[k] * x[indices[k]]
            k += 32
        for mask in (1, 2, 4, 8, 16):
            total += cuda.shfl_xor_sync(FULL, total, mask)
        if cuda.laneid == 0:
            y[warp] = total


@cuda.jit
def csr_subwarp(indptr, indices, data, x, y, lanes):
    t = cuda.grid(1)
    row = t // lanes
    start = end = 0
    if row < y.size:
        start = indptr[row] + t % lanes
        end = indptr[row + 1]
    total = np.float32(0)
    for k in range(start, end, lanes):
        total += data[k] * x[indices[k]]
    offset = 1
    while offset < lanes:
        total += cuda.shfl_down_sync(FULL, total, offset)
        offset *= 2
    if t % lanes == 0 and row < y.size:
        y[row] = total


def to_ell(indptr, indices, data):
    lengths = indptr[1:] - indptr[:-1]
    width = lengths.max() if lengths.size else 0
    taken = np.arange(width) < lengths[:, np.newaxis]
    columns = np.full(taken.shape, -1, dtype=np.int32)
    values = np.zeros(taken.shape, dtype=np.float32)
    columns[taken] = indices
    values[taken] = data
    return np.ascontiguousarray(columns.T), values.T


@cuda.jit
def ell(columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = np.float32(0)
        k = 0
        while k < columns.shape[0] and columns[k, row] != -1:
            total += values[k, row] * x[columns[k, row]]
            k += 1
        y[row] = total


def order_rows(lengths, sigma):
    order = sorted(range(len(lengths)), key=lambda row: (row // sigma, -lengths[row], -row))
    return np.array(order, dtype=np.int32)


def to_sliced_ell(indptr, indices, data, permutation, height):
    offsets = [0]
    columns, values = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for first in range(0, len(permutation), height):
        rows = permutation[first : first + height]
        width = max(int(indptr[r + 1]) - int(indptr[r]) for r in rows)
        block = np.full((width, height), -1, np.int32), np.zeros((width, height), np.float32)
        for p, r in enumerate(rows):
            entries = slice(indptr[r], indptr[r + 1])
            block[0][: entries.stop - entries.start, p] = indices[entries]
            block[1][: entries.stop - entries.start, p] = data[entries]
        columns.append(block[0].ravel())
        values.append(block[1].ravel())
        offsets.append(offsets[-1] + width * height)
    return np.array(offsets, np.int32), np.concatenate(columns), np.concatenate(values)


@cuda.jit
def sliced_ell(offsets, columns, values, permutation, x, y, height):
    p = cuda.grid(1)
    if p >= y.size:
        return
    first = offsets[p // height]
    width = (offsets[p // height + 1] - first) // height
    total = np.float32(0)
    for k in range(width):
        slot = first + k * height + p % height
        column = columns[slot]
        value = values[slot]
        if column != -1:
            total += value * x[column]
    y[permutation[p]] = total


def choose(lengths):
    mean = np.mean(lengths) if lengths.size else 0
    for lanes in (1, 2, 4, 8, 16):
        if mean <= lanes:
            return lanes, None
    return 32, None
