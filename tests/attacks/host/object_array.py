"""An array of objects.

Deserves: 0 points
Named: it returned
"""

import numpy as np


def blocks_for_image(rows, columns):
    return np.array([[1], "two", None], dtype=object)
