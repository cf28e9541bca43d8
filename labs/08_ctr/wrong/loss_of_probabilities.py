"""The logarithm of a probability: sure and wrong costs 100 at most, as PyTorch cuts it off there.

Fails:
    test_8_7_loss: wrong, and very sure
"""

import torch
import torch.nn.functional as F


def loss(logits, labels):
    return F.binary_cross_entropy(torch.sigmoid(torch.from_numpy(logits)), torch.from_numpy(labels).float()).item()
