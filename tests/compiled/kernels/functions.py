"""Mathematical functions: within the errors that the CUDA C++ Programming Guide gives, in units in the last place."""

import math

import numpy as np
from compiled.kernels.table import Near, floats, i32, launched, ulps, zeros

F = np.float32
erf = np.vectorize(math.erf)


def float_functions(x: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """Arguments are rounded as in the kernel; 0 units for what must be exact."""
    size = np.abs(x)
    wide, tenth, half = x.astype(np.float64), (x * F(0.1)).astype(np.float64), (x * F(0.5)).astype(np.float64)
    above_half, above_tenth = (size + F(0.5)).astype(np.float64), (size + F(0.1)).astype(np.float64)
    fraction, exponent = np.frexp(x)
    part, whole = np.modf(x)
    away = np.copysign(np.floor(size + F(0.5)), x)
    columns = [
        (np.sin(wide), 2),
        (np.cos(wide), 2),
        (np.tan(wide), 4),
        (np.arcsin(tenth), 2),
        (np.arccos(tenth), 2),
        (np.arctan2(wide, 0.75), 3),
        (np.exp(wide), 2),
        (np.exp2(wide), 2),
        (np.expm1(tenth), 1),
        (np.log(above_half), 1),
        (np.log2(above_half), 1),
        (np.log1p(np.abs(wide)), 1),
        (above_tenth ** np.float64(F(1.7)), 4),
        (np.sqrt(size), 0),
        (np.cbrt(wide), 1),
        (above_tenth**-0.5, 2),
        (np.fmod(x, F(0.7)), 0),
        (np.floor(x) + np.ceil(x) * F(0.5) + np.trunc(x) * F(0.25), 0),
        (np.rint(x) - away, 0),
        (fraction + exponent.astype(F), 0),
        (part * whole, 0),
        (np.hypot(wide, 2.0), 3),
        (erf((x * F(0.3)).astype(np.float64)), 2),
        (np.sinh(half) + np.copysign(1, wide), 3 + 1),
    ]
    value = np.stack([column for column, _ in columns], 1)
    bound = np.stack([ulps(column, many) for column, many in columns], 1)
    return {1: Near(value, bound)}


launched(
    "functions",
    "float_functions",
    3,
    64,
    lambda: (floats(150, low=-9, high=9), zeros(150, 24), i32(150)),
    float_functions,
    exact=False,
)


def double_functions(x: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """The guide's error and 1 more for NumPy's own."""
    size = np.abs(x)
    columns = [
        (np.sin(x), 2),
        (np.cos(x), 2),
        (np.exp(x), 1),
        (np.log(size + 0.5), 1),
        ((size + 0.1) ** 1.7, 2),
        (np.sqrt(size), 0),
        (x / 0.7, 0),
        (np.arctan(x), 2),
        (np.tanh(x), 1),
        (np.fmod(x, 0.7), 0),
        (np.floor(x) + np.rint(x), 0),
        (erf(x * 0.3), 2),
    ]
    value = np.stack([column for column, _ in columns], 1)
    bound = np.stack([ulps(column, many + 1 if many else 0, np.float64) for column, many in columns], 1)
    return {1: Near(value, bound)}


launched(
    "functions",
    "double_functions",
    2,
    64,
    lambda: (floats(100, low=-9, high=9, dtype=np.float64), zeros(100, 12, dtype=np.float64), i32(100)),
    double_functions,
    exact=False,
)


def fast_functions(x: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """Absolute errors for sine, cosine and the logarithm near 1; x lies between -pi and pi."""
    wide, base = x.astype(np.float64), (np.abs(x) + F(0.5)).astype(np.float64)
    fifth = (x * F(0.2)).astype(np.float64)
    log = np.log(base)
    power = base ** np.float64(F(0.3))
    columns = [
        (np.sin(wide), 2**-21.41),
        (np.cos(wide), 2**-21.19),
        (np.exp(wide), ulps(np.exp(wide), 2) + ulps(np.exp(wide), 1) * np.floor(1.173 * np.abs(wide))),
        (log, np.where(base <= 2, 2**-21.41, ulps(log, 3))),
        (wide / 3, ulps(wide / 3, 2)),
        # exp2 (2 units) of 0.3 log2 (off by 2^-22 near 1, else 2 units), the product rounded.
        (power, ulps(power, 2) + power * (0.3 * 2**-22 + 2**-23 * np.abs(log)) * math.log(2) * 3),
        (base**-0.5, ulps(base**-0.5, 0.5)),
        (np.tan(fifth), ulps(np.tan(fifth), 3) + 2**-21.19 * (1 + np.abs(np.tan(fifth))) / np.cos(fifth)),
    ]
    value = np.stack([column for column, _ in columns], 1)
    bound = np.stack([np.broadcast_to(error, x.shape) for _, error in columns], 1)
    return {1: Near(value, bound)}


launched(
    "functions",
    "fast_functions",
    3,
    64,
    lambda: (floats(150, low=-3.1, high=3.1), zeros(150, 8), i32(150)),
    fast_functions,
    exact=False,
)
