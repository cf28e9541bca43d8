"""Half of the block waits at a barrier that the other half never reaches.

Deserves: 0 points
Named: does not end: nothing that this loop's condition depends on changes
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    if cuda.threadIdx.x < 16:
        cuda.syncthreads()
    else:
        while partial[0] != 7:
            cuda.threadfence()
