"""The widths are those of the rows before they are sorted; rows that are longer run into the next slice.

Fails:
    test_7_7_slices: to_sliced_ell
"""

import numpy as np


def to_sliced_ell(indptr, indices, data, permutation, height):
    lengths = np.diff(indptr)
    slices = -(-permutation.size // height)
    widths = [max(lengths[s * height : (s + 1) * height]) for s in range(slices)]
    offsets = np.zeros(slices + 1, np.int32)
    offsets[1:] = np.cumsum(widths) * height
    columns = np.full(offsets[-1], -1, np.int32)
    values = np.zeros(offsets[-1], np.float32)
    for place, row in enumerate(permutation):
        for k in range(lengths[row]):
            slot = min(offsets[place // height] + place % height + k * height, offsets[-1] - 1)
            columns[slot] = indices[indptr[row] + k]
            values[slot] = data[indptr[row] + k]
    return offsets, columns, values
