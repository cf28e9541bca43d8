"""8. Race: the right answer, by luck

The sum of a block, with one barrier left out of the loop. It prints the right sum. Which line of the kernel races, and
why does no result show it?

Try:
* Put `cuda.syncthreads()` at the end of the loop, outside the if. Is the race gone?
* Put it inside the if, instead. What is wrong now?
* Make it 32 elements and 32 threads: one warp. Is a barrier needed within a warp?

Lab: 04_shared_memory
"""

import numpy as np

import gpukit
from gpukit import cuda

MOST_THREADS = 1024


# code: gpukit/kernels/barriers.py::block_sum_without_barrier


x = np.arange(128, dtype=np.int32)
partial = np.zeros(1, np.int32)

gpukit.profile(block_sum_without_barrier, 1, 128, x, partial)
print("sum:", partial[0], "expected:", x.sum())
