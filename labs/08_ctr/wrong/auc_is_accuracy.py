"""The share of samples on the right side of a half.

Fails:
    test_8_9_auc: two pairs of four are right, one is a tie
"""


def auc(labels, scores):
    return float(((scores > 0.5) == (labels == 1)).mean())
