"""The number of the entry in the whole matrix is taken for its slot.

Fails:
    test_7_6_convert: IndexError
"""

import numpy as np


def to_ell(indptr, indices, data):
    rows = indptr.size - 1
    width = int(max(np.diff(indptr), default=0))
    columns = np.full((width, rows), -1, np.int32)
    values = np.zeros((width, rows), np.float32)
    for row in range(rows):
        for k in range(indptr[row], indptr[row + 1]):
            columns[k, row] = indices[k]
            values[k, row] = data[k]
    return columns, values
