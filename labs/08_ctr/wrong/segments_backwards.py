"""The lookups of a row in descending order: another sum, where sums round.

Fails:
    test_8_6_segments: rows 7, 2, 7, 7, 0
"""

import numpy as np


def segments(rows):
    order = np.lexsort((-np.arange(rows.size), rows))
    touched, counts = np.unique(rows, return_counts=True)
    return order.astype(np.int32), np.append(0, np.cumsum(counts)).astype(np.int32), touched
