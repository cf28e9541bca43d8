"""Transposes and matrix products."""

import math

import numpy as np
from compiled.kernels.table import Near, floats, fma, i32, launched, sum_bound, zeros

for _kernel in ("transpose_naive", "transpose_tile", "transpose_padded"):
    launched(
        "dense",
        _kernel,
        (3, 2),
        (32, 8),
        lambda: (floats(50, 77), zeros(77, 50), i32(50), i32(77)),
        lambda a, b, rows, columns: {1: a.T},
    )
launched(
    "dense",
    "transpose_swizzled",
    (3, 3),
    (16, 16),
    lambda: (floats(48, 48, dtype=np.float64), zeros(48, 48, dtype=np.float64), i32(48)),
    lambda a, b, n: {1: a.T},
)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b, each element one chain of fused multiply-adds."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        total = fma(a[:, k : k + 1], b[k], total)
    return total


for _kernel, _block in (("matmul_naive", (32, 4)), ("matmul_tiled", (16, 16))):
    launched(
        "dense",
        _kernel,
        (-(-45 // _block[0]), -(-37 // _block[1])),
        _block,
        lambda: (floats(37, 50, low=-1), floats(50, 45, seed=2), zeros(37, 45), i32(37), i32(45), i32(50)),
        lambda a, b, c, m, n, k: {2: product(a, b)},
    )
launched(
    "dense",
    "matmul_registers",
    (2, 2),
    (8, 8),
    lambda: (floats(64, 64, low=-1), floats(64, 64, seed=2), zeros(64, 64), i32(64)),
    lambda a, b, c, n: {2: product(a, b)},
)
launched(
    "dense",
    "matvec",
    5,
    128,
    lambda: (floats(18, 300, low=-1), floats(300, seed=2), zeros(18), i32(18), i32(300)),
    lambda a, x, y, rows, columns: {2: Near(a.astype(np.float64) @ x, sum_bound(a.astype(np.float64) * x))},
)


def daxpy(a: np.float64, x: np.ndarray, y: np.ndarray, n: np.int32) -> dict:
    """Numbers of few bits, so that nothing rounds."""
    return {2: a * x + y}


launched(
    "dense",
    "daxpy",
    4,
    100,
    lambda: (np.float64(2.5), np.arange(390.0), np.arange(390.0)[::-1].copy(), i32(390)),
    daxpy,
)


def compensated(x: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """A compensated sum is right to about one unit in the last place, whatever was added."""
    exact = math.fsum(x)
    return {1: Near(np.array([exact]), 4 * np.finfo(np.float64).eps * np.abs(x).sum())}


launched(
    "dense",
    "compensated_sum",
    1,
    64,
    lambda: (floats(1000, low=-1, dtype=np.float64), zeros(1, dtype=np.float64), i32(1000)),
    compensated,
)


def complex_scale(x: np.ndarray, y: np.ndarray, factor: np.complex64, n: np.int32) -> dict:
    """Each part rounds twice, a product and the sum: 1 eps of |x| |factor|, times the root of 2 for both parts."""
    wide = x.astype(np.complex128) * np.complex128(factor)
    bound = 1.5 * np.finfo(np.float32).eps * np.abs(x) * abs(factor)
    return {1: Near(wide, bound)}


launched(
    "dense",
    "complex_scale",
    3,
    100,
    lambda: (
        (floats(250) + 1j * floats(250, seed=2)).astype(np.complex64),
        zeros(250, dtype=np.complex64),
        np.complex64(0.3 - 1.7j),
        i32(250),
    ),
    complex_scale,
)
