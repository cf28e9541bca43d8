"""The place among all rows is taken for the one in the slice.

Fails:
    test_7_7_slices: IndexError
"""

import numpy as np


def to_sliced_ell(indptr, indices, data, permutation, height):
    lengths = np.diff(indptr)[permutation]
    slices = -(-permutation.size // height)
    widths = [max(lengths[s * height : (s + 1) * height]) for s in range(slices)]
    offsets = np.zeros(slices + 1, np.int32)
    offsets[1:] = np.cumsum(widths) * height
    columns = np.full(offsets[-1], -1, np.int32)
    values = np.zeros(offsets[-1], np.float32)
    for place, row in enumerate(permutation):
        first = offsets[place // height] + place
        for k in range(lengths[place]):
            columns[first + k * height] = indices[indptr[row] + k]
            values[first + k * height] = data[indptr[row] + k]
    return offsets, columns, values
