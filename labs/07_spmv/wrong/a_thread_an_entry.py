"""A thread for each entry, which looks for its row: y is set by other threads, perhaps later.

Fails:
    test_7_2_right: race_global
    test_7_2_edges: race_global
    test_7_2_scaled: race_global
    test_7_2_cost: race_global
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    k = cuda.grid(1)
    if k < y.size:
        y[k] = beta * y[k] if beta != 0 else np.float32(0)
    if k < data.size:
        row = 0
        while indptr[row + 1] <= k:
            row += 1
        cuda.atomic.add(y, row, alpha * data[k] * x[indices[k]])
