"""The longest row of a matrix without rows: there is none, and NumPy says so.

Fails:
    test_7_6_convert: zero-size array
"""

import numpy as np


def to_ell(indptr, indices, data):
    lengths = np.diff(indptr)
    columns = np.full((lengths.max(), lengths.size), -1, np.int32)
    values = np.zeros(columns.shape, np.float32)
    for row in range(lengths.size):
        columns[: lengths[row], row] = indices[indptr[row] : indptr[row + 1]]
        values[: lengths[row], row] = data[indptr[row] : indptr[row + 1]]
    return columns, values
