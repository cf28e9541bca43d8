"""Rows behind the last whole window stay as they are.

Fails:
    test_7_7_order: lengths in the order of
"""

import numpy as np


def order_rows(lengths, sigma):
    permutation = np.arange(lengths.size, dtype=np.int32)
    for window in range(lengths.size // sigma):
        start = window * sigma
        permutation[start : start + sigma] = start + np.argsort(-lengths[start : start + sigma])
    return permutation
