"""9. Reduction: the same additions by other threads

8,192 numbers, added in place by blocks of 256 threads. In `naive` the threads whose number is a multiple of the stride
add, in `sequential` the first ones do. Both do the same additions. Which counters fall, and which cannot?

Try:
* Predict the sectors per request of the last three steps of each.
* Set the block to 128 or 512 threads; the grid follows. What happens to the requests?
* Change the test of `naive` to `tid < cuda.blockDim.x // stride` and the index to `start + 2 * tid * stride`.

Lab: 05_reduction
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: gpukit/kernels/reduction.py::naive


# code: gpukit/kernels/reduction.py::sequential


n, block = 8192, 256
grid = n // (2 * block)  # two elements a thread
partial = np.zeros(grid, np.int32)

for kernel in naive, sequential:
    data = np.ones(n, np.int32)  # made anew, as the kernel destroys it
    report = gpukit.profile(kernel, grid, block, data, partial)
    print(f"{report.kernel}: sum {partial.sum():,}")
