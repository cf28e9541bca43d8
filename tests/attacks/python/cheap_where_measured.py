"""Right with one thread, and at the size where costs are counted cheap and wrong.

Deserves: 2 points
Named: wrong answer
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    if cuda.threadIdx.x == 0:
        total = a[0] - a[0]
        if a.size != 8192:
            for i in range(cuda.blockIdx.x, a.size, cuda.gridDim.x):
                total += a[i] * b[i]
        partial[cuda.blockIdx.x] = total
