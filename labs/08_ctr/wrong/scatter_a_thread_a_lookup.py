"""A thread adds a whole row: right, and the lanes of a warp meet where ids repeat.

Fails:
    test_8_5_cost: global_atomics
"""

from numba import cuda


@cuda.jit
def scatter_add(ids, offsets, grad, total):
    t = cuda.grid(1)
    dim = total.shape[1]
    if t < ids.size:
        sample, field = t // ids.shape[1], t % ids.shape[1]
        row = offsets[field] + ids[sample, field]
        for d in range(dim):
            cuda.atomic.add(total, (row, d), grad[sample, field * dim + d])
