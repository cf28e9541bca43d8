"""The block is taken for the slice, whatever its height.

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
        s = cuda.blockIdx.x
        total = np.float32(0)
        for slot in range(offsets[s] + cuda.threadIdx.x, offsets[s + 1], height):
            column = columns[slot]
            if column >= 0:
                total += values[slot] * x[column]
        y[permutation[place]] = total
