"""Lanes are samples, all at the same number of a row: hot ids put many lanes on one address.

Fails:
    test_8_5_cost: atomic_max_contention
"""

from numba import cuda


@cuda.jit
def scatter_add(ids, offsets, grad, total):
    t = cuda.grid(1)
    dim = total.shape[1]
    if t < grad.size:
        sample, place = t % grad.shape[0], t // grad.shape[0]
        field = place // dim
        cuda.atomic.add(total, (offsets[field] + ids[sample, field], place % dim), grad[sample, place])
