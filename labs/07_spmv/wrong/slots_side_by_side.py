"""The slots of a place are read as if they lay side by side.

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
        width = (offsets[place // height + 1] - offsets[place // height]) // height
        total = np.float32(0)
        for k in range(width):
            slot = offsets[place // height] + place % height * width + k
            if columns[slot] >= 0:
                total += values[slot] * x[columns[slot]]
        y[permutation[place]] = total
