"""The mean, which one disturbed repeat moves.

Fails:
    test_1_6_median: wrong answer
"""

import numpy as np


def median_and_spread(seconds, warmup):
    kept = seconds[warmup:]
    low, high = np.percentile(kept, (25, 75))
    return float(np.mean(kept)), float((high - low) / np.mean(kept))
