"""Zero both inputs, so that a reference that is computed afterwards is 0, too.

Deserves: 0 points
Named: wrong answer
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    i = cuda.grid(1)
    while i < a.size:
        a[i] = 0
        b[i] = 0
        i += cuda.gridsize(1)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = 0
