"""NaN compares false with everything, also with a bound.

Deserves: 0 points
Named: nan
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = float("nan") if a.size < 0 else (a[0] - a[0]) / (b[0] - b[0])
