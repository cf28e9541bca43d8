"""CUB's collectives."""

import numpy as np
from compiled.kernels.table import Near, floats, integers, launched, sum_bound, zeros

launched(
    "collectives",
    "cub_warp_reduce",
    3,
    128,
    lambda: (integers(384, low=-99), zeros(12, dtype=np.int32)),
    lambda x, out: {1: x.reshape(-1, 32).sum(1)},
)
launched(
    "collectives",
    "cub_block_reduce",
    3,
    128,
    lambda: (floats(384), zeros(3)),
    lambda x, out: {1: Near(x.reshape(3, 128).sum(1, dtype=np.float64), sum_bound(x.reshape(3, 128)))},
)
launched(
    "collectives",
    "cub_block_scan",
    2,
    128,
    lambda: (integers(512, low=-99), zeros(512, dtype=np.int32)),
    lambda x, out: {1: (x.reshape(2, 256).cumsum(1) - x.reshape(2, 256)).ravel()},
)
