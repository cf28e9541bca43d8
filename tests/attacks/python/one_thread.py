"""One thread does all the work: right, and dear. What is right counts; what it costs is named.

Deserves: 2 points
Named: global_load_requests
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    if cuda.threadIdx.x == 0:
        total = a[0] - a[0]
        for i in range(cuda.blockIdx.x, a.size, cuda.gridDim.x):
            total += a[i] * b[i]
        partial[cuda.blockIdx.x] = total
