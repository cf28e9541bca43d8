"""The numbers of a sample in the order d, f: the first of all fields, then the second.

Fails:
    test_8_3_right: samples: 5, fields of 40, 3, 17 rows, dim 32
    test_8_3_cost: samples: 24, fields of 900, 3, 170 rows, dim 32
"""

from numba import cuda


@cuda.jit
def gather(ids, offsets, table, out):
    t = cuda.grid(1)
    fields = ids.shape[1]
    if t < out.size:
        sample, place = t // out.shape[1], t % out.shape[1]
        field, d = place % fields, place // fields
        out[sample, place] = table[offsets[field] + ids[sample, field], d]
