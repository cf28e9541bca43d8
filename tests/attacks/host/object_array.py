"""An array of objects.

Deserves: refused
Named: `object` in the host function
"""

import numpy as np


def blocks_for_image(rows, columns):
    return np.array([[1], "two", None], dtype=object)
