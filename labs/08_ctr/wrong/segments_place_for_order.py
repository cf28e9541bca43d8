"""The place that each lookup gets, which is the permutation the other way round.

Fails:
    test_8_6_segments: rows 7, 2, 7, 7, 0
"""

import numpy as np


def segments(rows):
    place = np.argsort(np.argsort(rows, kind="stable"), kind="stable")
    touched, counts = np.unique(rows, return_counts=True)
    return place.astype(np.int32), np.append(0, np.cumsum(counts)).astype(np.int32), touched
