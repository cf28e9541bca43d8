"""Constants of a kernel that would take all memory to work out.

Deserves: 0 points
Named: a tuple of more than 65,536 values
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    partial[0] = 10 ** 10 ** 10


@cuda.jit
def largest_magnitude(x, partial):
    partial[0] = 1 << (1 << 40)


@cuda.jit
def checksum(x, total):
    for i in (0,) * 10**11:
        total[0] = i
