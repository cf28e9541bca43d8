"""The row of a lookup, not the element with which it begins.

Fails:
    test_8_3_locate: samples: 70, fields of 40, 3, 17 rows, dim 20
"""

from numba import cuda


@cuda.jit
def locate(ids, offsets, dim, place):
    t = cuda.grid(1)
    if t < ids.size:
        sample, field = t // ids.shape[1], t % ids.shape[1]
        place[sample, field] = offsets[field] + ids[sample, field]
