"""Of equal elements the one that is met last wins.

Fails:
    test_5_2_right: wrong answer
    test_5_2_ties: wrong answer
    test_5_7_ties: wrong answer
"""

from numba import cuda


@cuda.jit(device=True)
def beats(value, index, other_value, other_index):
    return value >= other_value
