"""The first samples in place of the last.

Fails:
    test_8_9_split: the last 2 of seconds 10, 40, 20, 30
"""

import numpy as np


def split(times, count):
    return times <= np.sort(times)[count - 1]
