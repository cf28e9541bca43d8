"""Of the whole log, as a table of means is made: the future, and the sample itself, are in it.

Fails:
    test_8_9_history: every label from second 500 on was turned, buckets of 100: rates before 600 cannot know
"""

import numpy as np


def history(times, ids, labels, bucket, prior, k):
    rates = np.empty(times.size)
    for i in range(times.size):
        which = ids == ids[i]
        rates[i] = (labels[which].sum() + k * prior) / (which.sum() + k)
    return rates
