"""Modules through NumPy's own modules.

Deserves: refused
Named: testing
"""

import numpy as np


def blocks_for(n, threads):
    np.testing._private.utils.os.system("touch /CANARY/written_through_numpy")
    return 1
