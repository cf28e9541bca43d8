"""1 + x is rounded before the logarithm: a small rate becomes 0.

Fails:
    test_8_2_log_counts: a rate of one in a hundred million
"""

import numpy as np


def log_counts(x):
    return np.log(1 + np.where(x > 0, x, 0)).astype(np.float32)
