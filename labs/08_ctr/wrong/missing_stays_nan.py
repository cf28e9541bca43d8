"""np.maximum keeps NaN: one missing number spoils every weight.

Fails:
    test_8_2_log_counts: -3, -2 and -1 stand for what was not counted, NaN for what is missing
"""

import numpy as np


def log_counts(x):
    return np.log1p(np.maximum(x, 0)).astype(np.float32)
