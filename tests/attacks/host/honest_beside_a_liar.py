"""One function is honest, the other returns NaN, which is within no bound.

Deserves: 1 points
Named: got       nan
"""

import math


def bandwidth_gb_s(bytes_moved, seconds):
    return bytes_moved / seconds / 1e9


def least_seconds(bytes_moved, flops, gb_s, tflops):
    return math.nan
