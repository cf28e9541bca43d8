"""Written for rows of 32, as in the example.

Fails:
    test_8_3_right: oob_global_read
    test_8_3_cost: oob_global_read
"""

from numba import cuda


@cuda.jit
def gather(ids, offsets, table, out):
    t = cuda.grid(1)
    if t < out.size:
        sample, place = t // out.shape[1], t % out.shape[1]
        field = place // 32
        out[sample, place] = table[offsets[field] + ids[sample, field], place % 32]
