"""Read past the input, where the expected answer might lie, and write past the output.

Deserves: 0 points
Named: oob_global_read
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    if cuda.threadIdx.x == 0:
        for i in range(64):
            partial[cuda.blockIdx.x + i] = b[b.size + i]
