"""Ids as NumPy makes them: int64, twice the bytes of every batch.

Fails:
    test_8_2_encode: returned int64, int
"""

import numpy as np


def encode(train, raw):
    known = {int(value): k for k, value in enumerate(np.unique(train), 1)}
    return np.array([known.get(int(value), 0) for value in raw]), len(known) + 1
