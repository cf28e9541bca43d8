"""11. Shuffle: lanes hand over values without memory

Five shuffles add up a warp. `warp_sum` leaves the sum in lane 0, `warp_sum_everywhere` in all of them, for the same
number of exchanges. What does lane 30 get from `shfl_down_sync` with 4, and why does that not matter?

Try:
* Let lane 31 store the sum: `if i % 32 == 31` in `shuffle_down`. Which sum is that?
* Put the call of `warp_sum` inside `if i < x.size:` and set n to 80. Who is missing?
* Do the first two steps alone: offsets 16 and 8. What do lanes 0 to 7 hold?

Lab: 06_warp_primitives
"""

import numpy as np

import gpukit
from gpukit import cuda

FULL = 0xFFFFFFFF


# code: gpukit/warp.py::warp_sum


# code: gpukit/warp.py::warp_sum_everywhere


# code: gpukit/kernels/warp_reduce.py::shuffle_down


# code: gpukit/kernels/warp_reduce.py::butterfly


n = 64
x = np.arange(n, dtype=np.float32)
out = np.zeros((n + 31) // 32, np.float32)

for kernel in shuffle_down, butterfly:
    report = gpukit.profile(kernel, 1, 96, x, out)
    print(report.kernel, out)
