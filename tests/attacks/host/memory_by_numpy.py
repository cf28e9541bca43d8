"""All memory there is, in one array.

Deserves: 0 points
Named: MemoryError
"""

import numpy as np


def blocks_for_image(rows, columns):
    return np.ones(1 << 45)
