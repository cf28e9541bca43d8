"""split turns the records in a tile of shared memory, so that its stores are coalesced too; column_range walks rows in
steps of two; arrange throws the orders into buckets of 8 items, which share a sector, and does not sort inside.
"""

import numpy as np

from gpukit import cuda


@cuda.jit
def split(records, fields):
    tile = cuda.shared.array((16, 9), np.float32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * 16
    if first + t // 8 < records.shape[0]:
        tile[t // 8, t % 8] = records[first + t // 8, t % 8]
    cuda.syncthreads()
    if first + t % 16 < records.shape[0]:
        fields[t // 16, first + t % 16] = tile[t % 16, t // 16]


@cuda.jit
def column_range(x, out):
    rows = x.shape[0]
    for c in range(cuda.grid(1), x.shape[1], cuda.gridsize(1)):
        low = x[rows - 1, c]
        high = low
        for r in range(0, rows - 1, 2):
            a, b = x[r, c], x[r + 1, c]
            low = min(low, min(a, b))
            high = max(high, max(a, b))
        out[c] = high - low


def arrange(item, amount):
    buckets = {}
    for k, which in enumerate(item):
        buckets.setdefault(int(which) // 8, []).append(k)
    order = np.array([k for bucket in sorted(buckets) for k in buckets[bucket]], dtype=np.int64)
    return item[order], amount[order]
