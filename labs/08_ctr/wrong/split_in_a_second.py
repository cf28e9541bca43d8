"""Exactly `count` samples: some of a second are for training and others for the test.

Fails:
    test_8_9_split: the last 2 of seconds 5, 7, 7, 7, 9: three of them are one second
"""

import numpy as np


def split(times, count):
    test = np.zeros(times.size, bool)
    test[np.argsort(times, kind="stable")[-count:]] = True
    return test
