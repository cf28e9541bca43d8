"""No guard: the threads behind the last gradient read and add, too.

Fails:
    test_8_5_right: oob_global_read
"""

from numba import cuda


@cuda.jit
def scatter_add(ids, offsets, grad, total):
    t = cuda.grid(1)
    dim = total.shape[1]
    sample, place = t // grad.shape[1], t % grad.shape[1]
    field = place // dim
    cuda.atomic.add(total, (offsets[field] + ids[sample, field], place % dim), grad[sample, place])
