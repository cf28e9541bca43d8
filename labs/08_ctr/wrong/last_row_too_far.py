"""An id as large as the number of rows is let through.

Fails:
    test_8_2_one_table: rows of each field: 40, 3, 17; the largest id is one too large, in sample 20
"""

import numpy as np


def first_bad(ids, rows):
    bad = np.argwhere((ids < 0) | (ids > rows))
    return (int(bad[0, 0]), int(bad[0, 1])) if len(bad) else (-1, -1)
