"""Every field reads the rows of the first one.

Fails:
    test_8_3_right: samples: 1, fields of 40, 3, 17 rows, dim 1
    test_8_3_cost: samples: 24, fields of 900, 3, 170 rows, dim 32
"""

from numba import cuda


@cuda.jit
def gather(ids, offsets, table, out):
    t = cuda.grid(1)
    dim = table.shape[1]
    if t < out.size:
        sample, place = t // out.shape[1], t % out.shape[1]
        out[sample, place] = table[ids[sample, place // dim], place % dim]
