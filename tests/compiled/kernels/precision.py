"""16-bit floats, conversions, directed rounding."""

from collections.abc import Callable
from fractions import Fraction
from math import isnan

import numpy as np
from compiled.kernels.table import (
    Near,
    bfloat_bits,
    bfloat_values,
    floats,
    fma,
    halving,
    i32,
    launched,
    zeros,
)

HALF = np.float16


def halves(*shape: int, low: float = 0.25, high: float = 4.0, seed: int = 0) -> np.ndarray:
    """Random halves."""
    return floats(*shape, low=low, high=high, seed=seed).astype(HALF)


def bfloats(*shape: int, low: float = 0.25, high: float = 4.0, seed: int = 0) -> np.ndarray:
    """Random bfloat16, as bits."""
    return bfloat_bits(floats(*shape, low=low, high=high, seed=seed))


def half_axpy(a: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Fused: with numbers between 1/4 and 4 the exact result fits a double."""
    return (a * x.astype(np.float64) + y).astype(HALF)


launched(
    "precision",
    "half_axpy",
    3,
    100,
    lambda: (halves(290), halves(290, seed=2), HALF(-1.7), i32(290)),
    lambda x, y, a, n: {1: half_axpy(float(a), x, y)},
)


def pair(low: float, high: float) -> np.uint32:
    """Two halves as an argument."""
    return np.array([low, high], HALF).view(np.uint32)[0]


launched(
    "precision",
    "half2_axpy",
    3,
    50,
    lambda: (halves(290), halves(290, seed=2), pair(-1.7, 0.3), i32(145)),
    lambda x, y, a, n: {1: half_axpy(np.tile(np.array([a]).view(HALF).astype(np.float64), 145), x, y)},
)


def half2_dot(x: np.ndarray, y: np.ndarray, out: np.ndarray, pairs: np.int32) -> dict:
    """Every product and every sum in a half rounds; fusing them would round once less."""
    terms = x.astype(np.float64) * y
    per_lane = -(-pairs // 32)
    return {2: Near(np.array([terms.sum()]), (per_lane + 1) * np.finfo(HALF).eps * np.abs(terms).sum())}


launched(
    "precision",
    "half2_dot",
    1,
    32,
    lambda: (halves(300), halves(300, seed=2), zeros(1), i32(150)),
    half2_dot,
)
launched(
    "precision",
    "half_reduce",
    3,
    128,
    lambda: (halves(384), zeros(3, dtype=HALF)),
    lambda x, out: {1: halving(x.reshape(3, 128))},
)


def half_functions(x: np.ndarray, y: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """NumPy rounds halves as the hardware does."""
    results = [
        np.maximum(x, y),
        np.minimum(x, y),
        x - y,
        x / y,
        np.sqrt(np.abs(x)),
        np.where(x < y, x, -y),
        np.trunc(x) + HALF(0),
        np.floor(x),
    ]
    return {2: np.stack(results, 1).astype(HALF)}


launched(
    "precision",
    "half_functions",
    3,
    64,
    lambda: (halves(150, low=-8, high=8), halves(150, low=0.1, seed=2), zeros(150, 8, dtype=HALF), i32(150)),
    half_functions,
    exact=False,
)


def bfloat_axpy(x: np.ndarray, y: np.ndarray, a: np.uint16, n: np.int32) -> dict:
    """Fused: with numbers between 1/4 and 4 the exact result fits a float."""
    exact = bfloat_values(np.array([a])) * bfloat_values(x) + bfloat_values(y)
    return {1: bfloat_bits(exact)}


launched(
    "precision",
    "bfloat_axpy",
    3,
    100,
    lambda: (bfloats(290), bfloats(290, seed=2), bfloat_bits(np.array([-1.7]))[0], i32(290)),
    bfloat_axpy,
)


def bfloat2_dot(x: np.ndarray, y: np.ndarray, out: np.ndarray, pairs: np.int32) -> dict:
    """Chains of fused multiply-adds in lanes, then a tree."""
    a, b = bfloat_values(x).reshape(-1, 2), bfloat_values(y).reshape(-1, 2)
    total = np.zeros(32, np.float32)
    for k in range(pairs):
        lane = k % 32
        total[lane] = fma(a[k, 0], b[k, 0], fma(a[k, 1], b[k, 1], total[lane]))
    return {2: [halving(total)]}


launched(
    "precision",
    "bfloat2_dot",
    1,
    32,
    lambda: (bfloats(300), bfloats(300, seed=2), zeros(1), i32(150)),
    bfloat2_dot,
)


def all_sizes() -> np.ndarray:
    """Floats of all magnitudes, ties between halves among them, too large and too small ones too."""
    x = floats(200, low=-1) * np.exp2(floats(200, low=-40, high=20, seed=2)).astype(np.float32)
    x[:12] = [0, -0.0, 1e6, -1e6, 65504, 65520, 1 + 2**-11, 1 + 3 * 2**-11, 2.0**-25, -(2.0**-25), np.inf, -np.inf]
    return x


def rounded(x: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """The nearest half, or its neighbour on the side asked for."""
    with np.errstate(over="ignore"):
        near = x.astype(HALF)
    up = np.where(near >= x, near, np.nextafter(near, HALF(np.inf)))
    down = np.where(near <= x, near, np.nextafter(near, HALF(-np.inf)))
    cut = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    columns = [near, np.where(x > 0, down, up), up, down, bfloat_values(bfloat_bits(x)), cut]
    return {1: np.stack([column.astype(np.float32) for column in columns], 1)}


launched("precision", "roundings", 4, 64, lambda: (all_sizes(), zeros(200, 6), i32(200)), rounded)


def saturated(values: np.ndarray, dtype: type) -> list[int]:
    """Whole floats as integers; what is too large or too small becomes the nearest integer there is."""
    limits = np.iinfo(dtype)
    return [min(max(int(v), limits.min), limits.max) for v in np.clip(values.astype(np.float64), -1e30, 1e30)]


def converted(x, wide, out, back, n) -> dict:
    """Each conversion on Python's integers."""
    to = np.array(
        [
            saturated(np.rint(x), np.int32),
            saturated(np.trunc(x), np.int32),
            saturated(np.ceil(x), np.int32),
            saturated(np.floor(x), np.int32),
            saturated(np.trunc(x), np.uint32),
            saturated(np.rint(wide), np.int64),
            saturated(np.trunc(wide), np.int32),
            [v if v < 2**63 else v - 2**64 for v in saturated(np.trunc(x), np.uint64)],
        ]
    ).T
    third = [(3 * int(v) + 1 + 2**31) % 2**32 - 2**31 for v in to[:, 6]]
    results = [
        to[:, 5].astype(np.float64),
        [directed(Fraction(v), "zero") for v in third],
        [directed(Fraction(float(v)), "up") for v in wide],
        [directed(Fraction(int(v) % 2**64), "down") for v in to[:, 5]],
    ]
    return {2: to, 3: np.array(results, np.float64).T}


def floor_of(guess: np.float32, at_most: Callable[[np.float32], bool]) -> np.float32:
    """The largest float32 that is `at_most` the value meant, searched from a guess nearby."""
    infinity = np.float32(np.inf)
    while not at_most(guess):
        guess = np.nextafter(guess, -infinity)
    while at_most(np.nextafter(guess, infinity)):
        guess = np.nextafter(guess, infinity)
    return guess


def directed(value: Fraction, towards: str) -> np.float32:
    """An exact number as a float32, rounded `up`, `down` or to `zero`."""
    down = floor_of(np.float32(float(value)), lambda f: Fraction(float(f)) <= value)
    if Fraction(float(down)) == value or towards == "down" or (towards == "zero" and value > 0):
        return down
    return np.nextafter(down, np.float32(np.inf))


def wide_numbers() -> np.ndarray:
    """Doubles of all magnitudes, and some that no 64-bit integer holds."""
    x = floats(150, low=-1, dtype=np.float64) * np.exp2(floats(150, low=-3, high=62, seed=2, dtype=np.float64))
    x[:6] = [0.5, 1.5, 2.5, -2.5, 1e30, -1e30]
    return x


launched(
    "precision",
    "conversions",
    3,
    64,
    lambda: (
        np.concatenate((floats(140, low=-5e9, high=5e9), floats(10, low=-4, high=4))),
        wide_numbers(),
        zeros(150, 8, dtype=np.int64),
        zeros(150, 4, dtype=np.float64),
        i32(150),
    ),
    converted,
)


def all_modes(x: np.ndarray, y: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """On exact fractions."""
    rows = []
    for a32, b32 in zip(x, y, strict=True):
        a, b = Fraction(float(a32)), Fraction(float(b32))
        root = floor_of(np.sqrt(abs(a32)), lambda f, a=a: f >= 0 and Fraction(float(f)) ** 2 <= abs(a))
        if Fraction(float(root)) ** 2 != abs(a):
            root = np.nextafter(root, np.float32(np.inf))
        rows.append(
            [
                *(directed(a + b, mode) for mode in ("zero", "up", "down")),
                *(directed(a * b, mode) for mode in ("zero", "up", "down")),
                *(directed(a * b + a, mode) for mode in ("zero", "up")),
                directed(a / b, "down"),
                root,
                directed(1 / b, "zero"),
                min(max(a32, np.float32(0)), np.float32(1)),
            ]
        )
    assert not any(isnan(value) for row in rows for value in row)
    return {2: np.array(rows, np.float32)}


launched(
    "precision",
    "directed",
    2,
    32,
    lambda: (floats(60, low=-2, high=2), floats(60, low=0.1, high=3, seed=2), zeros(60, 12), i32(60)),
    all_modes,
)
