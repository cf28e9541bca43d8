"""Histograms."""

import numpy as np
from compiled.kernels.table import i32, integers, launched, zeros

launched(
    "histogram",
    "histogram_shared",
    3,
    256,
    lambda: (integers(3000, high=1 << 20), zeros(256, dtype=np.int32), i32(3000)),
    lambda keys, bins, n: {1: np.bincount(keys & 255, minlength=256)},
)
launched(
    "histogram",
    "histogram_by_warp",
    3,
    256,
    lambda: (integers(3000, high=256, dtype=np.uint8), zeros(64, dtype=np.uint32), i32(3000)),
    lambda data, bins, n: {1: np.bincount(data >> 2, minlength=64)},
)
launched(
    "histogram",
    "histogram_matched",
    5,
    96,
    lambda: (integers(450, high=7), zeros(7, dtype=np.int32), i32(450)),
    lambda keys, bins, n: {1: np.bincount(keys, minlength=7)},
)
