"""7.7 by sorting keys, 7.9 by looking at the mean and at the spread, as libraries do."""

import math

import numpy as np


def order_rows(lengths, sigma):
    window = np.arange(lengths.size) // sigma
    return np.lexsort((-lengths, window)).astype(np.int32)


def to_sliced_ell(indptr, indices, data, permutation, height):
    lengths = np.diff(indptr)
    rows = permutation.size
    padded = np.append(lengths[permutation], np.zeros(-rows % height, int)).reshape(-1, height)
    offsets = np.concatenate(([0], np.cumsum(padded.max(axis=1) * height))).astype(np.int32)
    place = np.argsort(permutation)
    row = np.repeat(np.arange(rows), lengths)
    k = np.arange(row.size) - indptr[row]
    slot = offsets[place[row] // height] + k * height + place[row] % height
    columns = np.full(offsets[-1], -1, np.int32)
    values = np.zeros(offsets[-1], np.float32)
    columns[slot] = indices
    values[slot] = data
    return offsets, columns, values


def choose(lengths):
    if lengths.size == 0 or np.max(lengths) == 0:
        return 1, 0
    mean, spread = float(np.mean(lengths)), float(np.std(lengths))
    if spread <= 2 * mean:
        return 0, 1024
    return min(32, 2 ** math.ceil(math.log2(max(1.0, mean)))), 0
