"""A tie counts as right: the same score for everyone would be perfect.

Fails:
    test_8_9_auc: two pairs of four are right, one is a tie
"""


def auc(labels, scores):
    clicked, others = scores[labels == 1][:, None], scores[labels == 0]
    return float((clicked >= others).mean())
