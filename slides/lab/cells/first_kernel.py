"""1. First kernel: who does which element?

A kernel is what one thread does. 100 elements in blocks of 64 threads need two blocks, 128 threads, four warps: 28
threads have nothing to do. In which warp does the guard `i < c.size` divide the lanes, and what do the others pay?

Try:
* Set `n` to 128, then to 96. Which counters move?
* Set `block` to 32, to 128, to 1. What does a block of one thread cost?
* Take the guard away: that is the next cell.

Lab: 01_execution
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: gpukit/kernels/execution.py::vector_add


n, block = 100, 64
grid = (n + block - 1) // block  # rounded up, so that the last elements have threads, too

a = np.arange(n, dtype=np.int32)
b = 1000 * a
c = np.zeros_like(a)

gpukit.profile(vector_add, grid, block, a, b, c)
print("wrong elements:", np.count_nonzero(c != a + b))
