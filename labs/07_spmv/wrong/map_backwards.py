"""The map is used backwards: thread r computes the place permutation[r], and stores in row r.

Fails:
    test_7_8_right: wrong answer
    test_7_8_cost: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def sliced_ell(offsets, columns, values, permutation, x, y, height):
    row = cuda.grid(1)
    if row < y.size:
        place = permutation[row]
        total = np.float32(0)
        for slot in range(offsets[place // height] + place % height, offsets[place // height + 1], height):
            if columns[slot] >= 0:
                total += values[slot] * x[columns[slot]]
        y[row] = total
