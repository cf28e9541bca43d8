"""5. Coalescing: memory moves in sectors of 32 bytes

32 lanes read one float each. Side by side that is 128 bytes, four sectors. Now let them lie 8 elements apart: how many
sectors does the same load need, and which part of their bytes is used?

Try:
* Strides 2, 3, 4, 16 and 33. From which stride on does it get no worse?
* Let `contiguous` read `x[i + 1]`: the same load, four bytes further.
* Turn the lanes round: read `x[y.size - 1 - i]`. Does the order matter?

Lab: 03_coalescing
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: gpukit/kernels/coalescing.py::contiguous


# code: gpukit/kernels/coalescing.py::strided


x = np.arange(4096, dtype=np.float32)
y = np.zeros(128, np.float32)

gpukit.profile(contiguous, 2, 64, x, y)
gpukit.profile(strided, 2, 64, x, y, 8)
