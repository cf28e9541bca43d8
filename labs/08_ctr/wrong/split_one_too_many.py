"""One sample more than asked for.

Fails:
    test_8_9_split: the last 2 of seconds 10, 40, 20, 30
"""

import numpy as np


def split(times, count):
    return times >= np.sort(times)[max(0, times.size - count - 1)]
