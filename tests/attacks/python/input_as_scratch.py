"""The right answer, but the input is used up for it.

Deserves: 0 points
Named: the input `x` was changed
"""

from numba import cuda


@cuda.jit
def largest_magnitude(x, partial):
    start = cuda.blockIdx.x * cuda.blockDim.x
    if cuda.threadIdx.x == 0:
        for i in range(start, min(start + cuda.blockDim.x, x.size)):
            x[start] = max(abs(x[start]), abs(x[i]))
        partial[cuda.blockIdx.x] = x[start]
