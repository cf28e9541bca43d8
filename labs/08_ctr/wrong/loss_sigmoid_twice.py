"""A sigmoid before a loss that has its own.

Fails:
    test_8_7_loss: logits of 0: half of each, ln 2
"""

import torch
import torch.nn.functional as F


def loss(logits, labels):
    z, y = torch.sigmoid(torch.from_numpy(logits)), torch.from_numpy(labels).float()
    return F.binary_cross_entropy_with_logits(z, y).item()
