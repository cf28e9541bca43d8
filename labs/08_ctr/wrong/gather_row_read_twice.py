"""A number is read once to see whether it is 0, and once to copy it.

Fails:
    test_8_3_cost: global_load_sectors
"""

from numba import cuda


@cuda.jit
def gather(ids, offsets, table, out):
    t = cuda.grid(1)
    dim = table.shape[1]
    if t < out.size:
        sample, place = t // out.shape[1], t % out.shape[1]
        field = place // dim
        row = offsets[field] + ids[sample, field]
        out[sample, place] = 0
        if table[row, place % dim] != 0:
            out[sample, place] = table[row, place % dim]
