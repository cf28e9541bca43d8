"""A device function that calls itself.

Deserves: 0 points
Named: `down` calls itself on every path and never returns
"""

from numba import cuda


@cuda.jit(device=True)
def down(n):
    return down(n + 1) + 1


@cuda.jit
def dot(a, b, partial):
    partial[0] = down(0)
