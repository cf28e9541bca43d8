"""The row is looked up, and its sum stored, for every slot: right, and far apart.

Fails:
    test_7_8_cost: global_store_requests
"""

import numpy as np
from numba import cuda


@cuda.jit
def sliced_ell(offsets, columns, values, permutation, x, y, height):
    place = cuda.grid(1)
    if place < y.size:
        y[permutation[place]] = np.float32(0)
        for slot in range(offsets[place // height] + place % height, offsets[place // height + 1], height):
            column = columns[slot]
            if column >= 0:
                y[permutation[place]] += values[slot] * x[column]
