"""Clicks over samples as they are: 0 / 0 for new ids.

Fails:
    test_8_9_history: one id; seconds 0, 5, 12, 14 and 25 in buckets of 10
"""


def history(times, ids, labels, bucket, prior, k):
    earlier = (times[:, None] // bucket > times // bucket) & (ids[:, None] == ids)
    return (earlier @ labels.astype(float)) / earlier.sum(1)
