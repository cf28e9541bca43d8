"""Smallest and largest begin at 0, which need not be an element: wrong for columns that lie on one side of it.

Fails:
    test_3_3_right: wrong answer
"""

from gpukit import cuda


@cuda.jit
def column_range(x, out):
    for c in range(cuda.grid(1), x.shape[1], cuda.gridsize(1)):
        low = high = x.dtype.type(0)
        for r in range(x.shape[0]):
            value = x[r, c]
            low = min(low, value)
            high = max(high, value)
        out[c] = high - low
