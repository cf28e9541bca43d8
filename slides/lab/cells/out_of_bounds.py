"""2. Out of bounds: a kernel that forgot its guard

Two blocks of 64 threads for 100 elements, and no guard. The first 100 results are right. What do the other 28 threads
do, and which line says so?

Try:
* Give the kernel its guard: `if i < x.size:` before the line that writes.
* Launch `twice[1, 64](x)` in place of the profile. Which elements are wrong, and is there an error?
* Write `x[i - 1]`. Who reads what is not there?

Lab: 01_execution
"""

import numpy as np

import gpukit
from gpukit import cuda


@cuda.jit
def twice(x):
    i = cuda.grid(1)
    x[i] = 2 * x[i]


x = np.arange(100, dtype=np.int32)
gpukit.profile(twice, 2, 64, x)
print("right elements:", np.count_nonzero(x == 2 * np.arange(100)), "of", x.size)
