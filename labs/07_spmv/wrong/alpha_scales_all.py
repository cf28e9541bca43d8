"""alpha scales the sum of both, beta y too: alpha (A x + beta y).

Fails:
    test_7_2_scaled: alpha = 2, beta = -1
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size:
        total = np.float32(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        if beta != 0:
            total += beta * y[row]
        y[row] = alpha * total
