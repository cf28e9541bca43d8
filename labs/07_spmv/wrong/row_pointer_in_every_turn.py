"""The end of the row is read from memory again in every turn: right, and a load more for each entry.

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
        k = indptr[row]
        while k < indptr[row + 1]:
            total += data[k] * x[indices[k]]
            k += 1
        total *= alpha
        if beta != 0:
            total += beta * y[row]
        y[row] = total
