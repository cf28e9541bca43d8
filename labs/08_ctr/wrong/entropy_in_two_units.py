"""The loss in nats over an entropy in bits.

Fails:
    test_8_9_calibrated: 4 samples, 1 click
"""

import numpy as np


def normalized_entropy(labels, p):
    rate = labels.mean()
    entropy = -(rate * np.log2(rate) + (1 - rate) * np.log2(1 - rate))
    return float(-np.log(np.where(labels == 1, p, 1 - p)).mean() / entropy)
