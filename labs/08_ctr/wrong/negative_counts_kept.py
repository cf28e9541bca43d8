"""log1p without a look at what is below 0: -1 is minus infinity, -2 is NaN.

Fails:
    test_8_2_log_counts: -3, -2 and -1 stand for what was not counted, NaN for what is missing
"""

import numpy as np


def log_counts(x):
    return np.log1p(np.nan_to_num(x)).astype(np.float32)
