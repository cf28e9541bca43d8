"""More text than a disk holds.

Deserves: 0 points
Named: the kernel `dot` does not end: after
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    for i in range(10**9):
        print("flood", i, cuda.threadIdx.x, "................................................................")
