"""The mean squared error of the probability.

Fails:
    test_8_7_loss: logits of 0: half of each, ln 2
"""

import torch


def loss(logits, labels):
    return ((torch.sigmoid(torch.from_numpy(logits)) - torch.from_numpy(labels).float()) ** 2).mean().item()
