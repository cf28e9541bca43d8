"""Copies that run ahead, and values handed between blocks."""

import numpy as np
from compiled.kernels.table import floats, i32, integers, launched, zeros


def ahead(x: np.ndarray, out: np.ndarray, tiles: np.int32) -> dict:
    """Each thread adds up the mirrored place of every tile."""
    quads = x.reshape(-1, tiles, 128, 4)[:, :, ::-1]
    total = np.zeros((quads.shape[0], 128), np.float32)
    for k in range(tiles):
        q = quads[:, k]
        total = total + ((q[..., 0] + q[..., 1]) + (q[..., 2] + q[..., 3]))
    return {1: total.ravel()}


launched("pipeline", "copy_ahead", 2, 128, lambda: (floats(2 * 3 * 128 * 4), zeros(256), i32(3)), ahead)
launched(
    "pipeline",
    "copy_rows",
    3,
    64,
    lambda: (integers(170), zeros(192, dtype=np.int32), i32(170)),
    lambda x, out, n: {1: np.pad(x, (0, 22)).reshape(3, 64)[:, ::-1].ravel()},
)
launched(
    "pipeline",
    "hand_over",
    3,
    64,
    lambda: (zeros(64, dtype=np.int32), zeros(1, dtype=np.int32), zeros(128, dtype=np.int32)),
    lambda data, flag, out: {0: 3 * np.arange(64), 1: [1], 2: np.tile(3 * np.arange(64) + 1, 2)},
    cooperative=True,
    polls=True,
)
