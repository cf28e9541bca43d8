"""IEEE arithmetic with one rounding in a chosen direction, vectorised: fused multiply-add and the _rn _rz _ru _rd
family.

A result is first known exactly, as an unevaluated sum hi + lo of two float64 with hi = round(hi + lo). Of lo only the
sign and whether it is zero matter afterwards: it tells on which side of hi the exact value lies. float32 and float16
are computed in float64 and rounded once, by way of "round to odd" (an inexact value is moved to its neighbour with an
odd last bit, so that the second rounding still sees that it was inexact). float64 needs the scaled, error-free
products below.

`mode` is "rn" (nearest even), "rz" (toward zero), "ru" (up) or "rd" (down) throughout.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpukit.machine.arithmetic import fused
from gpukit.machine.arithmetic.casts import float_to_int
from gpukit.machine.arithmetic.elementwise import vector

MODES = ("rn", "rz", "ru", "rd")

_FLOAT64 = np.dtype(np.float64)
_SPLIT = np.float64((1 << 27) + 1)
_FAR = 200  # more bits apart than this, an addend only says "a little more" or "a little less"


# --- error-free transformations on float64 arrays --------------------------------------------------------------------


def _two_sum(a, b):
    """(s, e) with s = round(a + b) and s + e = a + b; e is 0 where s is not finite."""
    swap = np.abs(a) < np.abs(b)
    large, small = np.where(swap, b, a), np.where(swap, a, b)
    s = large + small
    return s, np.where(np.isfinite(s), small - (s - large), 0.0)


def _split(a):
    """(high, low) with high + low = a, both of at most 26 bits; |a| must be below 2**990."""
    c = _SPLIT * a
    high = c - (c - a)
    return high, a - high


def _two_product(a, b):
    """(p, e) with p = round(a * b) and p + e = a * b, for factors near 1."""
    p = a * b
    a1, a2 = _split(a)
    b1, b2 = _split(b)
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


def _to_odd(hi, lo):
    """hi + lo rounded to odd: hi where it is exact or odd already, else its neighbour on the side of lo."""
    even = (hi.view(np.int64) & 1) == 0
    return np.where((lo != 0) & even & np.isfinite(hi), np.nextafter(hi, np.copysign(np.inf, lo)), hi)


# --- rounding --------------------------------------------------------------------------------------------------------


def _directed(nearest, residual, mode: str):
    """`nearest` moved to its neighbour where `mode` wants it; residual has the sign of exact - nearest."""
    if mode == "rn":
        return nearest
    if mode == "rz":
        step, towards = residual * np.sign(nearest) < 0, 0.0
    elif mode == "ru":
        step, towards = residual > 0, np.inf
    else:
        step, towards = residual < 0, -np.inf
    moved = np.nextafter(nearest, nearest.dtype.type(towards))
    return np.where(step, np.where(moved == 0, np.copysign(moved, nearest), moved), nearest)


def _narrow(hi, lo, dtype: np.dtype, mode: str):
    """hi + lo as float32 or float16, rounded once."""
    exact = _to_odd(hi, lo)
    nearest = exact.astype(dtype)
    return _directed(nearest, np.nan_to_num(exact - nearest.astype(_FLOAT64)), mode)


def _scaled(hi, lo, exponent, mode: str):
    """(hi + lo) * 2**exponent as float64, rounded once; hi = round(hi + lo) is finite."""
    nearest = np.ldexp(hi, exponent)
    back = np.ldexp(nearest, -exponent)
    difference = np.where(np.isfinite(back), hi - back, -np.sign(hi))
    # Where ldexp met a tie between two subnormals, lo decides it.
    quantum = np.ldexp(1.0, np.clip(-1074 - exponent, -1100, 1000))
    tie = (np.abs(difference) * 2 == quantum) & (difference * lo > 0) & np.isfinite(nearest)
    nearest = np.where(tie, np.nextafter(nearest, np.copysign(np.inf, difference)), nearest)
    back = np.ldexp(nearest, -exponent)
    difference = np.where(np.isfinite(back), hi - back, -np.sign(hi))
    return _directed(nearest, np.where(difference != 0, difference, lo), mode)


# --- operations ------------------------------------------------------------------------------------------------------


def add(dtype: np.dtype, mode: str) -> Callable:
    """(x, y) -> x + y in `dtype`, rounded by `mode`."""
    if mode == "rn":
        return np.add

    @vector
    def function(x, y):
        a, b = x.astype(_FLOAT64), y.astype(_FLOAT64)
        s, e = _two_sum(a, b)
        if dtype == _FLOAT64:
            overflow = np.isinf(s) & np.isfinite(a) & np.isfinite(b)
            result = _directed(s, np.where(overflow, -np.sign(s), e), mode)
        else:
            result = _narrow(s, e, dtype, mode)
        if mode == "rd":
            result = np.where((s == 0) & (e == 0) & (np.signbit(x) != np.signbit(y)), dtype.type(-0.0), result)
        return result

    return function


def subtract(dtype: np.dtype, mode: str) -> Callable:
    """(x, y) -> x - y in `dtype`, rounded by `mode`."""
    if mode == "rn":
        return np.subtract
    plus = add(dtype, mode)
    return lambda x, y: plus(x, -y)


def multiply(dtype: np.dtype, mode: str) -> Callable:
    """(x, y) -> x * y in `dtype`, rounded by `mode`."""
    if mode == "rn":
        return np.multiply

    @vector
    def multiply(x, y):
        if dtype != _FLOAT64:
            product = x.astype(_FLOAT64) * y.astype(_FLOAT64)  # exact
            return _narrow(product, np.zeros_like(product), dtype, mode)
        plain = x * y
        usual = np.isfinite(x) & np.isfinite(y) & (x != 0) & (y != 0)
        (mx, ex), (my, ey) = np.frexp(np.where(usual, x, 1.0)), np.frexp(np.where(usual, y, 1.0))
        p, e = _two_product(mx, my)
        return np.where(usual, _scaled(p, e, ex + ey, mode), plain)

    return multiply


def divide(dtype: np.dtype, mode: str) -> Callable:
    """(x, y) -> x / y in `dtype`, rounded by `mode`."""
    if mode == "rn":
        return np.divide

    @vector
    def function(x, y):
        plain = x / y
        a, b = x.astype(_FLOAT64), y.astype(_FLOAT64)
        usual = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
        (ma, ea), (mb, eb) = np.frexp(np.where(usual, a, 1.0)), np.frexp(np.where(usual, b, 1.0))
        quotient = ma / mb
        p, e = _two_product(quotient, mb)
        rest = ((ma - p) - e) * np.sign(mb)
        if dtype == _FLOAT64:
            rounded = _scaled(quotient, rest, ea - eb, mode)
        else:
            rounded = _narrow(np.ldexp(quotient, ea - eb), rest, dtype, mode)
        return np.where(usual, rounded, plain)

    return function


def reciprocal(dtype: np.dtype, mode: str) -> Callable:
    """x -> 1 / x in `dtype`, rounded by `mode`."""
    over = divide(dtype, mode)
    return lambda x: over(np.ones_like(x)[()], x)


def square_root(dtype: np.dtype, mode: str) -> Callable:
    """x -> sqrt(x) in `dtype`, rounded by `mode`."""
    if mode == "rn":
        return np.sqrt

    @vector
    def function(x):
        plain = np.sqrt(x)
        a = x.astype(_FLOAT64)
        usual = np.isfinite(a) & (a > 0)
        m, e = np.frexp(np.where(usual, a, 1.0))
        odd = e & 1
        m, e = np.ldexp(m, odd), (e - odd) >> 1
        root = np.sqrt(m)
        p, error = _two_product(root, root)
        rest = (m - p) - error
        if dtype == _FLOAT64:
            rounded = _directed(np.ldexp(root, e), rest, mode)
        else:
            rounded = _narrow(np.ldexp(root, e), rest, dtype, mode)
        return np.where(usual, rounded, plain)

    return function


def fma(dtype: np.dtype, mode: str = "rn") -> Callable:
    """(x, y, z) -> x * y + z in `dtype`, rounded once by `mode`."""

    @vector
    def fma(x, y, z):
        if dtype == _FLOAT64:
            result = _fma_float64(x, y, z, mode)
        else:
            product = x.astype(_FLOAT64) * y.astype(_FLOAT64)  # exact
            s, e = _two_sum(product, z.astype(_FLOAT64))
            result = _narrow(s, e, dtype, mode)
        if mode == "rd":
            negative = np.signbit(x) != np.signbit(y)
            cancelled = (result == 0) & (negative != np.signbit(z)) & _product_is(x, y, -z)
            result = np.where(cancelled, dtype.type(-0.0), result)
        return result

    if mode != "rn":
        return fma
    return fused.double(fma) if dtype == _FLOAT64 else fused.narrow(dtype, fma)


def _product_is(x, y, z):
    """Whether x * y is exactly z."""
    zero = ((x == 0) | (y == 0)) & (z == 0)
    a, b = x.astype(_FLOAT64), y.astype(_FLOAT64)
    (ma, ea), (mb, eb), (mz, ez) = np.frexp(a), np.frexp(b), np.frexp(z.astype(_FLOAT64))
    p, e = _two_product(ma, mb)
    mp, ep = np.frexp(p)
    return zero | ((e == 0) & (mp == mz) & (ea + eb + ep == ez) & (mz != 0))


def _fma_float64(x, y, z, mode: str):
    """x * y + z for float64 arrays: scaled so that the product is near 1, added exactly, rounded once."""
    usual = np.isfinite(x) & np.isfinite(y) & np.isfinite(z) & (x != 0) & (y != 0)
    (mx, ex), (my, ey) = np.frexp(np.where(usual, x, 1.0)), np.frexp(np.where(usual, y, 1.0))
    mz, ez = np.frexp(np.where(usual, z, 1.0))
    p, e = _two_product(mx, my)
    exponent = ex + ey
    # An addend far off counts only by its sign, or makes the product count only by its sign.
    apart = np.where(mz == 0, 0, ez - exponent)
    near = np.clip(apart, -_FAR, _FAR)
    exponent = exponent + np.maximum(apart - _FAR, 0)
    addend = np.ldexp(mz, near)
    uh, ul = _two_sum(addend, e)
    th, tl = _two_sum(p, uh)
    # p + e + addend = th + (tl + ul) exactly; the bracket is rounded to odd, which keeps its sign and its ties.
    hi, lo = _two_sum(th, _to_odd(*_two_sum(tl, ul)))
    cancelled = hi == 0
    rounded = _scaled(np.where(cancelled, 1.0, hi), lo, exponent, mode)
    # Elsewhere the product is 0, infinite or NaN, or else z is infinite or NaN and is the result.
    finite = np.isfinite(x) & np.isfinite(y)
    plain = np.where(finite & ~np.isfinite(z), z, x * y + z)
    return np.where(usual, np.where(cancelled, 0.0, rounded), plain)


def convert(src: np.dtype, dst: np.dtype, mode: str) -> Callable:
    """x -> x as `dst`, rounded by `mode`; between floats and integers, in any direction but integer to integer."""
    if dst.kind in "iu":
        return float_to_int(src, dst, {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}[mode])

    @vector
    def function(x):
        if src.kind in "iu" and src.itemsize == 8:
            high = (x >> src.type(32)).astype(_FLOAT64) * 2.0**32
            hi, lo = _two_sum(high, (x & src.type(0xFFFFFFFF)).astype(_FLOAT64))
        else:
            hi = x.astype(_FLOAT64)
            lo = np.zeros_like(hi)
        return _directed(hi, lo, mode) if dst == _FLOAT64 else _narrow(hi, lo, dst, mode)

    return function
