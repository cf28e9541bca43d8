"""Add to the output instead of setting it: right if it held zeros.

Deserves: 0 points
Named: wrong answer
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    i = cuda.grid(1)
    while i < a.size:
        cuda.atomic.add(partial, cuda.blockIdx.x, a[i] * b[i])
        i += cuda.gridsize(1)
