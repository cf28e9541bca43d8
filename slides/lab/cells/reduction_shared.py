"""10. Reduction in shared memory: one cure, the next illness

The tree in shared memory, three times. `shared_interleaved` tests a remainder, `shared_strided` keeps the threads
together but spreads their addresses, `shared_sequential` keeps both together. What does each step cure, and which
counter gets worse in the second?

Try:
* Which line of `shared_strided` has the conflicts, and in which turn of the loop are they worst?
* Let each thread load two elements and add them first. How many blocks are left?
* Count the barriers. How many of them does the last warp need?

Lab: 05_reduction
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: gpukit/kernels/reduction.py::shared_interleaved


# code: gpukit/kernels/reduction.py::shared_strided


# code: gpukit/kernels/reduction.py::shared_sequential


n, block = 4096, 256
grid = n // block
data = np.ones(n, np.int32)
partial = np.zeros(grid, np.int32)

for kernel in shared_interleaved, shared_strided, shared_sequential:
    report = gpukit.profile(kernel, grid, block, data, partial, shared_bytes=4 * block)
    print(f"{report.kernel}: sum {partial.sum():,}")
