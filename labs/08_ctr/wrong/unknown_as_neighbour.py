"""Where a value would stand in the vocabulary is taken for its id, whether it stands there or not.

Fails:
    test_8_2_encode: training has 20, 70 and 90; nobody knows 110
"""

import numpy as np


def encode(train, raw):
    vocabulary = np.unique(train)
    return (np.searchsorted(vocabulary, raw, side="right")).astype(np.int32), int(vocabulary.size) + 1
