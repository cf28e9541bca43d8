"""Every element adds 1 by itself: right, and 32 lanes queue for one address.

Fails:
    test_6_7_cost: atomic_max_contention
"""

from numba import cuda


@cuda.jit
def histogram(key, counts):
    i = cuda.grid(1)
    if i < key.size:
        cuda.atomic.add(counts, key[i], 1)
