"""-labels in uint8 is 255 for a click.

Fails:
    test_8_7_loss: right, and very sure
"""

import numpy as np


def loss(logits, labels):
    return float((np.maximum(logits, 0) + logits * -labels + np.log1p(np.exp(-np.abs(logits)))).mean())
