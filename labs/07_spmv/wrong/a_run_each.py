"""Each lane takes a run of its row, as a CPU core would: right, and neighbouring lanes read far apart.

Fails:
    test_7_3_cost: global_load_sectors
"""

import numpy as np
from numba import cuda

from gpukit.warp import warp_sum


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    row = cuda.grid(1) // 32
    lane = cuda.grid(1) % 32
    total = np.float32(0)
    if row < y.size:
        start, end = indptr[row], indptr[row + 1]
        run = (end - start + 31) // 32
        for k in range(start + lane * run, min(start + (lane + 1) * run, end)):
            total += data[k] * x[indices[k]]
    total = warp_sum(total)
    if row < y.size and lane == 0:
        y[row] = total
