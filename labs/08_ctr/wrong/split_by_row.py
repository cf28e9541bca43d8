"""The last rows of the log, which is in no order: the past of one sample is the future of another.

Fails:
    test_8_9_split: the last 2 of seconds 10, 40, 20, 30
"""

import numpy as np


def split(times, count):
    return np.arange(times.size) >= times.size - count
