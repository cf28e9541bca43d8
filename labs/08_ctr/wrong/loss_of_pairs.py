"""Logits as a column beside labels in a row: the loss of each logit with every label.

Fails:
    test_8_7_loss: right, and very sure
"""

import torch
import torch.nn.functional as F


def loss(logits, labels):
    z, y = torch.from_numpy(logits)[:, None], torch.from_numpy(labels).float()
    return (F.softplus(z) - z * y).mean().item()
