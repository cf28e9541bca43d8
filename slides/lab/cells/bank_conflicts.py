"""7. Bank conflicts: 32 banks, one word each at a time

Every lane reads what its warp has written to shared memory, in words that lie `stride` apart. Word k is in bank k % 32.
How many passes does a read need at stride 1, at 32, and at 33?

Try:
* Strides 2, 4, 8 and 31. Which ones have conflicts?
* Read one word with all lanes: `tile[first]` in the loop. Is that a 32-way conflict?
* Make x and y float64, and the shared memory twice as large. What is the least now?

Lab: 04_shared_memory
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: gpukit/kernels/banks.py::sum_of_warp


# code: gpukit/kernels/banks.py::stride_1


# code: gpukit/kernels/banks.py::stride_32


# code: gpukit/kernels/banks.py::stride_33


x = np.ones(64, np.float32)
y = np.zeros_like(x)

for kernel, stride in (stride_1, 1), (stride_32, 32), (stride_33, 33):
    gpukit.profile(kernel, 1, 64, x, y, shared_bytes=64 * stride * 4)
    print(f"stride {stride}: sums are right: {np.all(y == 32)}")
