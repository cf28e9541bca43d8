"""The mean of the AUC of batches: samples of different batches are never compared.

Fails:
    test_8_9_auc: 60 samples, many ties
"""

import numpy as np


def auc(labels, scores):
    found = []
    for start in range(0, labels.size, 20):
        y, s = labels[start : start + 20], scores[start : start + 20]
        clicked, others = s[y == 1][:, None], s[y == 0]
        if clicked.size and others.size:
            found.append(((clicked > others) + 0.5 * (clicked == others)).mean())
    return float(np.mean(found))
