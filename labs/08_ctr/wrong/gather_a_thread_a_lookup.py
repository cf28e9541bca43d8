"""A thread copies a whole row: right, and neighbouring lanes are rows apart.

Fails:
    test_8_3_cost: global_load_sectors
"""

from numba import cuda


@cuda.jit
def gather(ids, offsets, table, out):
    t = cuda.grid(1)
    if t < ids.size:
        sample, field = t // ids.shape[1], t % ids.shape[1]
        row = offsets[field] + ids[sample, field]
        for d in range(table.shape[1]):
            out[sample, field * table.shape[1] + d] = table[row, d]
