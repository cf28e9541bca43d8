"""The shortest rows come first.

Fails:
    test_7_7_order: lengths in the order of
"""

import numpy as np


def order_rows(lengths, sigma):
    permutation = np.arange(lengths.size, dtype=np.int32)
    for start in range(0, lengths.size, sigma):
        permutation[start : start + sigma] = start + np.argsort(lengths[start : start + sigma])
    return permutation
