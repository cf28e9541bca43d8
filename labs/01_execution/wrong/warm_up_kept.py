"""The warm-up counts among the repeats.

Fails:
    test_1_6_median: 1 warm-up
"""

import numpy as np


def median_and_spread(seconds, warmup):
    low, middle, high = np.percentile(seconds, (25, 50, 75))
    return float(middle), float((high - low) / middle)
