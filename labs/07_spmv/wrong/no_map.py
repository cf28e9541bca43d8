"""The sums stay in the order of the slices.

Fails:
    test_7_8_right: wrong answer
    test_7_8_cost: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def sliced_ell(offsets, columns, values, permutation, x, y, height):
    place = cuda.grid(1)
    if place < y.size:
        total = np.float32(0)
        for slot in range(offsets[place // height] + place % height, offsets[place // height + 1], height):
            if columns[slot] >= 0:
                total += values[slot] * x[columns[slot]]
        y[place] = total
