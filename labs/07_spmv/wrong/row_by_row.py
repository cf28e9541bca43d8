"""The slots of a row lie side by side: neighbouring lanes would be a row apart.

Fails:
    test_7_6_convert: shapes of to_ell
"""

import numpy as np


def to_ell(indptr, indices, data):
    rows = indptr.size - 1
    width = max(np.diff(indptr), default=0)
    columns = np.full((rows, width), -1, np.int32)
    values = np.zeros((rows, width), np.float32)
    for row in range(rows):
        length = indptr[row + 1] - indptr[row]
        columns[row, :length] = indices[indptr[row] : indptr[row + 1]]
        values[row, :length] = data[indptr[row] : indptr[row + 1]]
    return columns, values
