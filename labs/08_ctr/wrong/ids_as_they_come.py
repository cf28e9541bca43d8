"""Ids in the order in which values appear, not of the values.

Fails:
    test_8_2_encode: training has 20, 70 and 90; nobody knows 110
"""

import numpy as np


def encode(train, raw):
    known = {}
    for value in train.tolist():
        known.setdefault(value, len(known) + 1)
    return np.array([known.get(value, 0) for value in raw.tolist()], np.int32), len(known) + 1
