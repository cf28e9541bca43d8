"""Rounded up as a float, which has 53 bits.

Fails:
    test_1_2_edges: only integers are exact
"""

import math


def blocks_for(n, threads):
    return max(1, math.ceil(n / threads))
