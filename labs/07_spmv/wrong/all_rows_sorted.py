"""All rows are sorted together: rows leave their windows.

Fails:
    test_7_7_order: -1 marks a row
"""

import numpy as np


def order_rows(lengths, sigma):
    return np.argsort(-lengths, kind="stable").astype(np.int32)
