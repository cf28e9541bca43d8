"""Padding has column 0, which a kernel cannot tell from an entry.

Fails:
    test_7_6_convert: and then the padding
"""

import numpy as np


def to_ell(indptr, indices, data):
    lengths = np.diff(indptr)
    columns = np.zeros((max(lengths, default=0), lengths.size), np.int32)
    values = np.zeros(columns.shape, np.float32)
    for row in range(lengths.size):
        columns[: lengths[row], row] = indices[indptr[row] : indptr[row + 1]]
        values[: lengths[row], row] = data[indptr[row] : indptr[row + 1]]
    return columns, values
