"""Two empty sets are merged as any other two: 0 / 0.

Fails:
    test_5_5_empty: wrong answer
"""

from numba import cuda


@cuda.jit(device=True)
def merge(count, mean, m2, other_count, other_mean, other_m2):
    both = count + other_count
    d = other_mean - mean
    return both, mean + d * other_count / both, m2 + other_m2 + d * d * count * other_count / both
