"""y = A x for a CSR matrix: `indptr` (rows + 1), `indices` and `data` (non-zeros)."""

import numpy as np

from gpukit import cuda


@cuda.jit
def row_per_thread(indptr, indices, data, x, y):
    """One row per thread: a warp works as long as its longest row, and its lanes read far apart."""
    row = cuda.grid(1)
    if row < y.size:
        total = np.float32(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = total


@cuda.jit
def row_per_warp(indptr, indices, data, x, y):
    """One row per warp: its lanes read neighbouring non-zeros and add up their sums by shuffles."""
    lane = cuda.threadIdx.x % 32
    row = cuda.grid(1) // 32
    if row < y.size:
        total = np.float32(0)
        for k in range(indptr[row] + lane, indptr[row + 1], 32):
            total += data[k] * x[indices[k]]
        offset = 16
        while offset > 0:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, offset)
            offset //= 2
        if lane == 0:
            y[row] = total
