"""Sorted by the wrong key: the prices of neighbouring orders lie anywhere.

Fails:
    test_3_6_cost: load sectors
"""

import numpy as np


def arrange(item, amount):
    order = np.argsort(amount)
    return item[order], amount[order]
