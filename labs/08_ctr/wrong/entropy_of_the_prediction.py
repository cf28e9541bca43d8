"""Divided by the entropy of the mean prediction, so that a wrong mean is hidden.

Fails:
    test_8_9_calibrated: 4 samples, 1 click
"""

import numpy as np


def normalized_entropy(labels, p):
    q = p.mean()
    entropy = -(q * np.log(q) + (1 - q) * np.log(1 - q))
    return float(-np.log(np.where(labels == 1, p, 1 - p)).mean() / entropy)
