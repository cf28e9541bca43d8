"""Offsets as int32, which wrap around in a large table.

Fails:
    test_8_2_one_table: returned int32
"""

import numpy as np


def offsets_of(rows):
    return (np.cumsum(rows) - rows).astype(np.int32)
