"""A plain addition: two samples with one id write over each other.

Fails:
    test_8_5_right: race_global
    test_8_5_cost: race_global_interblock
"""

from numba import cuda


@cuda.jit
def scatter_add(ids, offsets, grad, total):
    t = cuda.grid(1)
    dim = total.shape[1]
    if t < grad.size:
        sample, place = t // grad.shape[1], t % grad.shape[1]
        field = place // dim
        total[offsets[field] + ids[sample, field], place % dim] += grad[sample, place]
