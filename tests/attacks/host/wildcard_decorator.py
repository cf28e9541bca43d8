"""A decorator on host code.

Deserves: refused
Named: decorator
"""

import numpy as np


@np.vectorize
def blocks_for(n, threads):
    return -(-n // threads)
