"""The lanes add their squares to the state by atomics, and wait for one another: right, and 32 on one address.

Fails:
    test_8_6_cost: global_atomics
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def update(order, starts, touched, grad, table, state, lr, eps):
    segment = cuda.grid(1) // 32
    lane = cuda.laneid
    dim = table.shape[1]
    g = np.float32(0)
    if segment < touched.size and lane < dim:
        for k in range(starts[segment], starts[segment + 1]):
            g += grad[order[k], lane]
    inside = segment < touched.size and lane < dim
    if inside:
        cuda.atomic.add(state, touched[segment], g * g / np.float32(dim))
    cuda.syncwarp()
    if inside:
        row = touched[segment]
        table[row, lane] -= lr * g / (math.sqrt(state[row]) + eps)
