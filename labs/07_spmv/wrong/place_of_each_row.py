"""The permutation is turned round: it says where a row stands, not which row stands there.

Fails:
    test_7_7_order: lengths in the order of
"""

import numpy as np


def order_rows(lengths, sigma):
    permutation = np.empty(lengths.size, np.int32)
    for start in range(0, lengths.size, sigma):
        order = np.argsort(-lengths[start : start + sigma], kind="stable")
        permutation[start + order] = np.arange(start, start + order.size)
    return permutation
