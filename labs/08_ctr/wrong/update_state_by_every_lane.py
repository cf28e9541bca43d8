"""Every lane reads and writes the state, some before and some after the others.

Fails:
    test_8_6_right: race_global
    test_8_6_cost: race_global
"""

import math

import numpy as np
from numba import cuda

from gpukit.warp import warp_sum


@cuda.jit
def update(order, starts, touched, grad, table, state, lr, eps):
    segment = cuda.grid(1) // 32
    lane = cuda.laneid
    dim = table.shape[1]
    g = np.float32(0)
    if segment < touched.size and lane < dim:
        for k in range(starts[segment], starts[segment + 1]):
            g += grad[order[k], lane]
    squares = warp_sum(g * g)
    squares = cuda.shfl_sync(FULL, squares, 0)
    if segment < touched.size and lane < dim:
        row = touched[segment]
        state[row] += squares / np.float32(dim)
        table[row, lane] -= lr * g / (math.sqrt(state[row]) + eps)
