"""A loop without an end.

Deserves: 0 points
Named: does not end
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    while True:
        pass
