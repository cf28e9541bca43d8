"""NumPy's own types, int64 and float64: twice the bytes.

Fails:
    test_7_6_convert: int64, float64
"""

import numpy as np


def to_ell(indptr, indices, data):
    rows = indptr.size - 1
    width = int(max(np.diff(indptr), default=0))
    columns = np.full((width, rows), -1)
    values = np.zeros((width, rows))
    for row in range(rows):
        for k in range(indptr[row], indptr[row + 1]):
            columns[k - indptr[row], row] = indices[k]
            values[k - indptr[row], row] = data[k]
    return columns, values
