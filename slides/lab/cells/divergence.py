"""3. Divergence: what does an if cost?

Both kernels do the same to half of the elements. In `by_lane` neighbouring lanes take different sides, in `by_warp`
whole warps do. How many of the 8 warps of a block of 256 threads divide in each, and how many lanes are at work?

Try:
* In `by_lane` replace `i % 2 == 0` by `i < 100`. How many warps divide now?
* Make it `i // 16 % 2 == 0`, then `i // 32 % 2 == 0`.
* Write both sides as one line: `y[i] = cuda.selp(i % 2 == 0, 3 * x[i] + 1, x[i] // 2)`.

Lab: 02_divergence
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: gpukit/kernels/divergence.py::by_lane


# code: gpukit/kernels/divergence.py::by_warp


x = np.arange(256, dtype=np.int32)
y = np.zeros_like(x)

gpukit.profile(by_lane, 1, 256, x, y)
gpukit.profile(by_warp, 1, 256, x, y)
