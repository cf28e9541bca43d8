"""A remainder in place of a vocabulary: different values share a row.

Fails:
    test_8_2_encode: training has 20, 70 and 90; nobody knows 110
"""

import numpy as np


def encode(train, raw):
    rows = len(np.unique(train)) + 1
    return (raw % rows).astype(np.int32), rows
