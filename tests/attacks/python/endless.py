"""A loop without an end.

Deserves: 0 points
Named: no way leads out of this loop
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    while True:
        pass
