"""Ranks by one sort: equal scores get different ranks, as they happen to stand.

Fails:
    test_8_9_auc: two pairs of four are right, one is a tie
"""

import numpy as np


def auc(labels, scores):
    rank = np.empty(labels.size)
    rank[np.argsort(scores, kind="stable")] = np.arange(1, labels.size + 1)
    clicks = int(labels.sum())
    return float((rank[labels == 1].sum() - clicks * (clicks + 1) / 2) / (clicks * (labels.size - clicks)))
