"""A dictionary for each row: of entries in the same column the last one wins, where they should add up.

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
        found = {}
        for entry in range(indptr[row], indptr[row + 1]):
            found[indices[entry]] = data[entry]
        for k, column in enumerate(found):
            columns[k, row] = column
            values[k, row] = found[column]
    return columns, values
