"""All threads write the same slot, one after the other as it happens here.

Deserves: 0 points
Named: race_global
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    block = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        partial[block] = 0
    i = cuda.grid(1)
    while i < a.size:
        partial[block] += a[i] * b[i]
        i += cuda.gridsize(1)
