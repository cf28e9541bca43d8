"""Neighbouring lanes store neighbouring numbers and load them 32 bytes apart: every sector travels 8 times.

Fails:
    test_3_5_cost: global_load_sectors
"""

from gpukit import cuda


@cuda.jit
def split(records, fields):
    k = cuda.grid(1)
    n = fields.shape[1]
    if k < fields.size:
        fields[k // n, k % n] = records[k % n, k // n]
