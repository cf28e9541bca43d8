"""The last slice has only as many places as there are rows left.

Fails:
    test_7_7_slices: offsets of to_sliced_ell
"""

import numpy as np


def to_sliced_ell(indptr, indices, data, permutation, height):
    offsets, columns, values = [0], [], []
    for start in range(0, permutation.size, height):
        rows = permutation[start : start + height]
        width = max(indptr[row + 1] - indptr[row] for row in rows)
        for k in range(width):
            for row in rows:
                there = k < indptr[row + 1] - indptr[row]
                columns.append(indices[indptr[row] + k] if there else -1)
                values.append(data[indptr[row] + k] if there else 0)
        offsets.append(len(columns))
    return np.array(offsets, np.int32), np.array(columns, np.int32), np.array(values, np.float32)
