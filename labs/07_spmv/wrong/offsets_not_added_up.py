"""The offset of a slice is the size of the slice before: right for two slices, and for no more.

Fails:
    test_7_7_slices: offsets of to_sliced_ell
"""

import numpy as np


def to_sliced_ell(indptr, indices, data, permutation, height):
    lengths = np.diff(indptr)[permutation]
    slices = -(-permutation.size // height)
    widths = [max(lengths[s * height : (s + 1) * height]) for s in range(slices)]
    offsets = np.zeros(slices + 1, np.int32)
    offsets[1:] = np.array(widths) * height
    columns = np.full(sum(widths) * height, -1, np.int32)
    values = np.zeros(sum(widths) * height, np.float32)
    for place, row in enumerate(permutation):
        first = height * sum(widths[: place // height]) + place % height
        for k in range(lengths[place]):
            columns[first + k * height] = indices[indptr[row] + k]
            values[first + k * height] = data[indptr[row] + k]
    return offsets, columns, values
