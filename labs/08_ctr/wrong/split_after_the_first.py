"""The samples after the first one of the test: it is in neither part.

Fails:
    test_8_9_split: the last 2 of seconds 10, 40, 20, 30
"""

import numpy as np


def split(times, count):
    return times > np.sort(times)[-count]
