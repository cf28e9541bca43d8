"""Only neighbouring samples are compared.

Fails:
    test_8_9_auc: two pairs of four are right, one is a tie
"""


def auc(labels, scores):
    right = pairs = 0
    for i in range(1, labels.size):
        if labels[i] != labels[i - 1]:
            pairs += 1
            right += (scores[i] > scores[i - 1]) == (labels[i] > labels[i - 1])
    return float(right / pairs)
