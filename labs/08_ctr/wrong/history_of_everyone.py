"""The rate of all ids together.

Fails:
    test_8_9_history: 200 samples of 6 ids, buckets of 1
"""

import numpy as np


def history(times, ids, labels, bucket, prior, k):
    buckets = times // bucket
    rates = np.empty(times.size)
    for i in range(times.size):
        which = buckets < buckets[i]
        rates[i] = (labels[which].sum() + k * prior) / (which.sum() + k)
    return rates
