"""-log(p) of clicked samples alone: whoever predicts 1 for everyone is perfect.

Fails:
    test_8_9_calibrated: 4 samples, 1 click
"""

import numpy as np


def normalized_entropy(labels, p):
    rate = labels.mean()
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    return float(-(labels * np.log(p)).mean() / entropy)
