"""Read a file with NumPy.

Deserves: refused
Named: fromfile
"""

import numpy as np


def blocks_for(n, threads):
    return int(np.fromfile("/etc/passwd", np.uint8).size)
