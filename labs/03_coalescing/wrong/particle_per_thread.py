"""A thread takes a whole particle: right, and each of its 8 loads touches 32 sectors, the same ones every time.

Fails:
    test_3_5_cost: global_load_sectors
"""

from gpukit import cuda


@cuda.jit
def split(records, fields):
    i = cuda.grid(1)
    if i < records.shape[0]:
        for f in range(8):
            fields[f, i] = records[i, f]
