"""12. Grid-stride loop: a grid of any size does all the work

The kernel goes on from element to element, a whole grid at a time. 1,000 elements and one block of 128 threads: how
many turns does a warp make, and in which warp does the last turn divide the lanes?

Try:
* Grids of 1, 2, 4 and 8 blocks. Which counters do not move?
* Let each thread take 8 neighbouring elements instead. What happens to the sectors per request?
* How small may the array be, and how large, without a change to the launch?

Lab: 01_execution
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: gpukit/kernels/execution.py::grid_stride


n = 1000
a = np.arange(n, dtype=np.int32)
b = 2 * a
c = np.zeros_like(a)

gpukit.profile(grid_stride, 1, 128, a, b, c)
print("wrong elements:", np.count_nonzero(c != a + b))
