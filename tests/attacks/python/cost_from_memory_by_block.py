"""The same where blocks have an answer each: the largest of descending elements is the first.

Deserves: 0 points
Named: wrong answer
"""

from numba import cuda


@cuda.jit
def block_argmax(x, value, index):
    if cuda.threadIdx.x == 0:
        value[cuda.blockIdx.x] = x[cuda.grid(1)]
        index[cuda.blockIdx.x] = cuda.grid(1)
