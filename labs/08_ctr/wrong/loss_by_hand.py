"""log(p) and log(1 - p) as they stand in the book: 0 times infinity is NaN.

Fails:
    test_8_7_loss: right, and very sure
"""

import numpy as np


def loss(logits, labels):
    p = 1 / (1 + np.exp(-logits))
    return float(-(labels * np.log(p) + (1 - labels) * np.log(1 - p)).mean())
