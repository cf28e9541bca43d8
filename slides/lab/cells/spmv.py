"""13. Sparse matrix: rows of every length

A CSR matrix of 64 rows with 1 to 60 entries. With a thread a row, lanes read far apart and wait for the longest row;
with a warp a row, they read side by side. Which one has more sectors per request, and which one more lanes at work?

Try:
* Rows of 2 entries: `lengths = np.full(64, 2)`. Which kernel would you take now?
* Rows of 64 entries each. What is left of the first kernel's problem?
* Rows of 3 entries and a long one: `lengths = np.full(64, 3)`, then `lengths[5] = 250`. Who waits for it?

Lab: 07_spmv
"""

import numpy as np

import gpukit
from gpukit import cuda


# code: gpukit/kernels/spmv.py::row_per_thread


# code: gpukit/kernels/spmv.py::row_per_warp


rng = np.random.default_rng(1)
lengths = rng.integers(1, 61, 64)
indptr = np.zeros(lengths.size + 1, np.int32)
indptr[1:] = np.cumsum(lengths)
columns = [np.sort(rng.choice(256, n, replace=False)) for n in lengths]
indices = np.concatenate(columns).astype(np.int32)
data = np.ones(indices.size, np.float32)
x = np.ones(256, np.float32)
y = np.zeros(lengths.size, np.float32)

gpukit.profile(row_per_thread, 1, 64, indptr, indices, data, x, y)
gpukit.profile(row_per_warp, 16, 128, indptr, indices, data, x, y)
print("y is right:", np.array_equal(y, lengths))
