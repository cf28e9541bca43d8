"""The prior is added once, not k times.

Fails:
    test_8_9_history: one id; seconds 0, 5, 12, 14 and 25 in buckets of 10
"""


def history(times, ids, labels, bucket, prior, k):
    earlier = (times[:, None] // bucket > times // bucket) & (ids[:, None] == ids)
    return (earlier @ labels.astype(float) + prior) / (earlier.sum(1) + k)
