"""Holes that do not look like holes.

Deserves: 0 points
Named: no thread wrote it
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    raise NotImplementedError


@cuda.jit
def checksum(x, total):
    raise NotImplementedError("TODO")


@cuda.jit
def largest_magnitude(x, partial):
    ...
