"""The sorted rows in place of the order in which they were.

Fails:
    test_8_6_segments: rows 7, 2, 7, 7, 0
"""

import numpy as np


def segments(rows):
    touched, counts = np.unique(rows, return_counts=True)
    return np.sort(rows).astype(np.int32), np.append(0, np.cumsum(counts)).astype(np.int32), touched
