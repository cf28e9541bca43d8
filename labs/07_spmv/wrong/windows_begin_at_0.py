"""Places in the window are taken for rows: every window names the rows of the first.

Fails:
    test_7_7_order: -1 marks a row
"""

import numpy as np


def order_rows(lengths, sigma):
    permutation = np.arange(lengths.size, dtype=np.int32)
    for start in range(0, lengths.size, sigma):
        permutation[start : start + sigma] = np.argsort(-lengths[start : start + sigma])
    return permutation
