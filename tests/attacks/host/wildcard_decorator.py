"""A decorator on host code.

Deserves: refused
Named: the only one is @cuda.jit
"""

import numpy as np


@np.vectorize
def blocks_for(n, threads):
    return -(-n // threads)
