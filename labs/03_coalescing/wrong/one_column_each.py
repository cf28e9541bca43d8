"""A thread has one column: those that come after the last thread are left out.

Fails:
    test_3_3_right: wrong answer
    test_3_3_cost: wrong answer
"""

from gpukit import cuda


@cuda.jit
def column_range(x, out):
    c = cuda.grid(1)
    if c < x.shape[1]:
        low = high = x[0, c]
        for r in range(1, x.shape[0]):
            value = x[r, c]
            low = min(low, value)
            high = max(high, value)
        out[c] = high - low
