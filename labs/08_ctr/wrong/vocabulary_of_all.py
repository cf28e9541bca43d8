"""The vocabulary holds what is to be encoded as well: ids that the training rows have no row for.

Fails:
    test_8_2_encode: training has 20, 70 and 90; nobody knows 110
"""

import numpy as np


def encode(train, raw):
    vocabulary = np.unique(np.concatenate((train, raw)))
    return (np.searchsorted(vocabulary, raw) + 1).astype(np.int32), len(np.unique(train)) + 1
