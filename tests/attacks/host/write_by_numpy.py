"""Write a file with an array's method.

Deserves: refused
Named: tofile
"""

import numpy as np


def blocks_for(n, threads):
    np.arange(10).tofile("/CANARY/written_by_numpy")
    return 1
