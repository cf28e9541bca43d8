"""Lane 0 finds the index in shared memory, one lane after the other: right, and no warp primitive.

Fails:
    test_6_2_cost: shared_load_requests
"""

import math

import numpy as np
from numba import cuda


@cuda.jit
def warp_argmax(x, where):
    i = cuda.grid(1)
    tile = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[i] if i < x.size else np.float32(-math.inf)
    cuda.syncwarp()
    if t % 32 == 0 and i < x.size:
        index = 0
        for lane in range(1, 32):
            if tile[t + lane] > tile[t + index]:
                index = lane
        where[i // 32] = i + index
