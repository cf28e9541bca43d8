"""The entry behind the end of the row is added, too: the first one of the next row.

Fails:
    test_7_2_right: reads data[70]
    test_7_2_edges: data is empty
    test_7_2_scaled: wrong answer
    test_7_2_cost: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size:
        total = np.float32(0)
        for k in range(indptr[row], indptr[row + 1] + 1):
            total += data[k] * x[indices[k]]
        total *= alpha
        if beta != 0:
            total += beta * y[row]
        y[row] = total
