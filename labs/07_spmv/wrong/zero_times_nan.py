"""y is multiplied by beta = 0 where it should not be read: 0 * NaN is NaN.

Fails:
    test_7_2_scaled: y holds NaN before
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
        y[row] = alpha * total + beta * y[row]
