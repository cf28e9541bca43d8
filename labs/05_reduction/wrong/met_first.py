"""Of equal elements the one that the tree meets first wins: not always the one with the smaller index.

Fails:
    test_5_2_ties: wrong answer
    test_5_7_ties: wrong answer
"""

from numba import cuda


@cuda.jit(device=True)
def beats(value, index, other_value, other_index):
    return value > other_value
