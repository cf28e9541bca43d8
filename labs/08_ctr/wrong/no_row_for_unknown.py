"""Ids begin with 0: the first known value has the id of the unknown ones.

Fails:
    test_8_2_encode: training has 20, 70 and 90; nobody knows 110
"""

import numpy as np


def encode(train, raw):
    known = {int(value): k for k, value in enumerate(np.unique(train))}
    return np.array([known.get(int(value), 0) for value in raw], np.int32), len(known)
