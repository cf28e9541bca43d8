"""Every thread takes a stretch of neighbouring columns, as a CPU core would: right, and the lanes lie far apart.

Fails:
    test_3_3_cost: global_load_sectors
"""

from gpukit import cuda


@cuda.jit
def column_range(x, out):
    each = (x.shape[1] + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * each
    for c in range(first, min(first + each, x.shape[1])):
        low = high = x[0, c]
        for r in range(1, x.shape[0]):
            low = min(low, x[r, c])
            high = max(high, x[r, c])
        out[c] = high - low
