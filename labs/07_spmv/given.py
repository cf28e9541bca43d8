"""Kernels that the quiz of 7.1 is about: the sums of rows that all have the same number of values, one row behind the
other. Read which addresses the lanes of a warp ask for at the same moment. Try one:

    gpukit profile labs/07_spmv/given.py:by_thread --grid 1 --block 32 -a 'float32[32,64]' -a 'float32[32]'
"""

import numpy as np

from gpukit import cuda


@cuda.jit
def by_thread(values, out):
    """out[r] = the sum of row r, a thread a row. values: (rows, length) float32; out: (rows,) float32."""
    r = cuda.grid(1)
    if r < out.size:
        total = np.float32(0)
        for k in range(values.shape[1]):
            total += values[r, k]
        out[r] = total


@cuda.jit
def by_warp(values, out):
    """out[r, lane] = what a lane has read of row r, a warp a row; nobody adds the 32 parts up.

    values: (rows, length) float32; out: (rows, 32) float32.
    """
    t = cuda.grid(1)
    r = t // 32
    if r < out.shape[0]:
        part = np.float32(0)
        for k in range(t % 32, values.shape[1], 32):
            part += values[r, k]
        out[r, t % 32] = part
