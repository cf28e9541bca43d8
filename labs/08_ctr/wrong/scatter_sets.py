"""Stored, not added: the last gradient of a row takes the place of the others.

Fails:
    test_8_5_right: whole numbers: exact; samples: 1, fields of 40, 3, 17 rows, dim 1
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
        total[offsets[field] + ids[sample, field], place % dim] = grad[sample, place]
