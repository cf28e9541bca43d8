"""Entries that are 0 are taken for padding.

Fails:
    test_7_6_convert: row by row
"""

import numpy as np


def to_ell(indptr, indices, data):
    rows = indptr.size - 1
    width = max(np.diff(indptr), default=0)
    columns = np.full((width, rows), -1, np.int32)
    values = np.zeros((width, rows), np.float32)
    for row in range(rows):
        k = 0
        for entry in range(indptr[row], indptr[row + 1]):
            if data[entry] != 0:
                columns[k, row] = indices[entry]
                values[k, row] = data[entry]
                k += 1
    return columns, values
