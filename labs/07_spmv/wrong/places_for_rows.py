"""Places of the last slice that have no row are taken for rows.

Fails:
    test_7_8_right: oob_global_read
"""

import numpy as np
from numba import cuda


@cuda.jit
def sliced_ell(offsets, columns, values, permutation, x, y, height):
    place = cuda.grid(1)
    if place // height < offsets.size - 1:
        total = np.float32(0)
        for slot in range(offsets[place // height] + place % height, offsets[place // height + 1], height):
            if columns[slot] >= 0:
                total += values[slot] * x[columns[slot]]
        y[permutation[place]] = total
