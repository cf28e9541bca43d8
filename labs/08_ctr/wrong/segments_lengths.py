"""The lengths of the segments, not added up.

Fails:
    test_8_6_segments: rows 7, 2, 7, 7, 0
"""

import numpy as np


def segments(rows):
    order = np.argsort(rows, kind="stable")
    touched, counts = np.unique(rows, return_counts=True)
    return order.astype(np.int32), np.append(0, counts).astype(np.int32), touched
