"""A warp for each row, however short: of 32 lanes 8 have work where dim is 8.

Fails:
    test_8_3_cost: global_load_requests
"""

from numba import cuda


@cuda.jit
def gather(ids, offsets, table, out):
    lane = cuda.laneid
    dim = table.shape[1]
    for lookup in range(cuda.grid(1) // 32, ids.size, cuda.gridsize(1) // 32):
        sample, field = lookup // ids.shape[1], lookup % ids.shape[1]
        row = offsets[field] + ids[sample, field]
        for d in range(lane, dim, 32):
            out[sample, field * dim + d] = table[row, d]
