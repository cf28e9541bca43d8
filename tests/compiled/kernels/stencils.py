"""Stencils."""

import numpy as np
from compiled.kernels.table import floats, fma, i32, integers, launched, zeros


def seven(x: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """Sums of 7 neighbours from left to right."""
    padded = np.pad(x, 3)
    total = np.zeros_like(x)
    for k in range(7):
        total = total + padded[k : k + x.size]
    return {1: total}


launched("stencils", "stencil_1d", 4, 128, lambda: (floats(500), zeros(500), i32(500)), seven)


def conduct(x: np.ndarray, out: np.ndarray, width: np.int32, height: np.int32, rate: np.float32) -> dict:
    """One step of the heat equation; both multiplications are fused."""
    centre = x[1:-1, 1:-1]
    around = ((x[:-2, 1:-1] + x[2:, 1:-1]) + x[1:-1, :-2]) + x[1:-1, 2:]
    result = x.copy()
    result[1:-1, 1:-1] = fma(rate, fma(np.float32(-4), centre, around), centre)
    return {1: result}


launched(
    "stencils",
    "stencil_2d",
    (3, 5),
    (32, 8),
    lambda: (floats(37, 70), zeros(37, 70), i32(70), i32(37), np.float32(0.15)),
    conduct,
)


def seven_points(x: np.ndarray, out: np.ndarray, *sizes: np.int32) -> dict:
    """Quarters of integers below 2**10: no sum rounds."""
    middle = x[1:-1, 1:-1, 1:-1]
    result = np.zeros_like(x)
    result[1:-1, 1:-1, 1:-1] = (
        0.5 * middle
        + 0.25 * (x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:])
        + 0.125 * (x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1])
        + (x[:-2, 1:-1, 1:-1] - x[2:, 1:-1, 1:-1])
    )
    return {1: result}


launched(
    "stencils",
    "stencil_3d",
    (1, 3),
    (32, 4),
    lambda: (integers(9, 13, 33, high=1024, dtype=np.float32), zeros(9, 13, 33), i32(33), i32(13), i32(9)),
    seven_points,
)


def smooth(x: np.ndarray, out: np.ndarray, width: np.int32, height: np.int32) -> dict:
    """A chain of fused multiply-adds, row by row."""
    line = np.array([1, 4, 6, 4, 1], np.float32)
    padded = np.pad(x, 2)
    total = np.zeros_like(x)
    for dy in range(5):
        for dx in range(5):
            total = fma(line[dy] * line[dx], padded[dy : dy + x.shape[0], dx : dx + x.shape[1]], total)
    return {1: total * np.float32(1 / 256)}


launched(
    "stencils",
    "convolution",
    (3, 8),
    (32, 4),
    lambda: (floats(30, 65), zeros(30, 65), i32(65), i32(30)),
    smooth,
)


def generation(now: np.ndarray, after: np.ndarray, width: np.int32, height: np.int32) -> dict:
    """Conway's rule on a torus."""
    around = sum(np.roll(now, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - now
    return {1: (around == 3) | ((around == 2) & (now == 1))}


launched(
    "stencils",
    "game_of_life",
    (2, 3),
    (32, 8),
    lambda: (integers(20, 50, high=2, dtype=np.uint8), zeros(20, 50, dtype=np.uint8), i32(50), i32(20)),
    generation,
)
