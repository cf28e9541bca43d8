"""The guard is for indptr, which has one element more than there are rows.

Fails:
    test_7_2_right: oob_global
    test_7_2_edges: oob_global
    test_7_2_scaled: oob_global
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < indptr.size:
        total = np.float32(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        total *= alpha
        if beta != 0:
            total += beta * y[row]
        y[row] = total
