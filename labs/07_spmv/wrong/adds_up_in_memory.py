"""Every product goes to y in global memory: right, and a load and a store more each time.

Fails:
    test_7_2_cost: global_store_requests
"""

import numpy as np
from numba import cuda


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size:
        y[row] = beta * y[row] if beta != 0 else np.float32(0)
        for k in range(indptr[row], indptr[row + 1]):
            y[row] += alpha * (data[k] * x[indices[k]])
