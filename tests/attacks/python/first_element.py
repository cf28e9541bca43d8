"""Only what a lazy test would look at: the first element.

Deserves: 0 points
Named: wrong answer
"""

from numba import cuda


@cuda.jit
def largest_magnitude(x, partial):
    if cuda.grid(1) == 0:
        largest = abs(x[0])
        for i in range(min(x.size, cuda.blockDim.x)):
            largest = max(largest, abs(x[i]))
        partial[0] = largest
