"""Every slice is read as if it were as wide as the first one.

Fails:
    test_7_8_right: oob_global_read
    test_7_8_cost: oob_global_read
"""

import numpy as np
from numba import cuda


@cuda.jit
def sliced_ell(offsets, columns, values, permutation, x, y, height):
    place = cuda.grid(1)
    if place < y.size:
        width = (offsets[1] - offsets[0]) // height
        total = np.float32(0)
        for k in range(width):
            slot = offsets[place // height] + k * height + place % height
            if columns[slot] >= 0:
                total += values[slot] * x[columns[slot]]
        y[permutation[place]] = total
