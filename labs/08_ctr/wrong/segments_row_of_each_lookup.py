"""The row of each lookup, not each row once.

Fails:
    test_8_6_segments: rows 7, 2, 7, 7, 0
"""

import numpy as np


def segments(rows):
    order = np.argsort(rows, kind="stable")
    counts = np.unique(rows, return_counts=True)[1]
    return order.astype(np.int32), np.append(0, np.cumsum(counts)).astype(np.int32), rows[order]
