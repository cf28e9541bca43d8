"""No guard: the threads behind the last element write, too.

Fails:
    test_8_3_right: oob_global_read
    test_8_3_cost: oob_global_read
"""

from numba import cuda


@cuda.jit
def gather(ids, offsets, table, out):
    t = cuda.grid(1)
    dim = table.shape[1]
    sample, place = t // out.shape[1], t % out.shape[1]
    field = place // dim
    out[sample, place] = table[offsets[field] + ids[sample, field], place % dim]
