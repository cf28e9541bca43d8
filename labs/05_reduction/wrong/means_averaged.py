"""The mean of two means, whatever the counts behind them.

Fails:
    test_5_5_right: wrong answer
    test_5_5_empty: wrong answer
    test_5_5_cost: wrong answer
"""

from numba import cuda


@cuda.jit(device=True)
def merge(count, mean, m2, other_count, other_mean, other_m2):
    both = count + other_count
    if both == 0.0:
        return 0.0, 0.0, 0.0
    d = other_mean - mean
    return both, (mean + other_mean) / 2, m2 + other_m2 + d * d * count * other_count / both
