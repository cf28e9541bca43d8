"""4. Loops of different length: the warp waits for its longest lane

A thread adds up the purchases of one customer: 2, 5, 20, 100, 4 and so on. There is no if in the kernel. How many of 32
lanes are at work in the loop's line, and what would help without buying anything less?

Try:
* Sort the lengths: put `lengths.sort()` before the offsets are made.
* Give all customers 26 purchases. The work is nearly the same; what does the warp pay?
* Look at the lane picture: after which turn of the loop are most lanes idle?

Lab: 02_divergence
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: gpukit/kernels/purchases.py::customer_per_thread


lengths = np.resize([2, 5, 20, 100, 4], 128)
offsets = np.zeros(lengths.size + 1, np.int32)
offsets[1:] = np.cumsum(lengths)
amounts = np.ones(offsets[-1], np.float32)
totals = np.zeros(lengths.size, np.float32)

gpukit.profile(customer_per_thread, 1, 128, offsets, amounts, totals)
print("all totals right:", np.array_equal(totals, lengths))
