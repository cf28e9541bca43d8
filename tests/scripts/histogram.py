"""Count values into bins: a private histogram per block in shared memory, merged with atomics."""

import numba
import numpy as np
from numba import cuda

BINS = 32


@cuda.jit
def histogram(values, low, width, counts):
    mine = cuda.shared.array(BINS, dtype=numba.int32)
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        b = int((values[i] - low) / width)
        if b >= 0 and b < BINS:
            cuda.atomic.add(mine, b, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, b, mine[b])


values = np.random.default_rng(3).normal(size=4_000)
counts = np.zeros(BINS, np.int32)
histogram[4, 128](values, -4.0, 0.25, counts)
expected, _ = np.histogram(values, bins=BINS, range=(-4, 4))
assert counts.sum() == expected.sum()
np.testing.assert_array_equal(counts, expected)
print("counted", counts.sum())
