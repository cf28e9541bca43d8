"""One long call of NumPy, which no bytecode interrupts. The other function is honest.

Deserves: 1 points
Named: blocks_for_image
"""

import numpy as np


def blocks_for_image(rows, columns):
    return np.sort(np.arange(1 << 40))


def bandwidth_gb_s(bytes_moved, seconds):
    return bytes_moved / seconds / 1e9
