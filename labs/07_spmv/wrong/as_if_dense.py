"""Every column is looked for in the row, as in a dense matrix: right, and a search for each.

Fails:
    test_7_2_cost: global_load_requests
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size:
        total = np.float32(0)
        for column in range(x.size):
            for k in range(indptr[row], indptr[row + 1]):
                if indices[k] == column:
                    total += data[k] * x[column]
        total *= alpha
        if beta != 0:
            total += beta * y[row]
        y[row] = total
