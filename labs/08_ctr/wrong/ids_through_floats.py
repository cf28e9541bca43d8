"""Values become float64 on the way: those above 2^53 fall together.

Fails:
    test_8_2_encode: values that float64 cannot tell apart
"""

import numpy as np


def encode(train, raw):
    known = {value: k for k, value in enumerate(sorted(set(train.astype(float).tolist())), 1)}
    return np.array([known.get(value, 0) for value in raw.astype(float).tolist()], np.int32), len(known) + 1
