"""The place is made as int32, which wraps around, before it is stored as int64.

Fails:
    test_8_3_locate: samples: 33, fields of 150,000,000, 50,000,000, 9 rows, dim 64
"""

import numpy as np
from numba import cuda


@cuda.jit
def locate(ids, offsets, dim, place):
    t = cuda.grid(1)
    if t < ids.size:
        sample, field = t // ids.shape[1], t % ids.shape[1]
        row = np.int32(offsets[field]) + ids[sample, field]
        place[sample, field] = np.int32(row * dim)
