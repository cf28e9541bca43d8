"""Integer division, powers and float-to-integer casts with the GPU's results, over NumPy scalars and arrays.

Every function takes any mix of NumPy scalars and 1-D arrays of one length and returns a NumPy scalar or an array of
the promised dtype. None raises, whatever the values; run them under `np.errstate(all="ignore")`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np

# From this many elements on, a - (a // c) * c beats a % c: NumPy divides by one constant with vector instructions.
_LONG = 1024


def vector(function: Callable) -> Callable:
    """Lets a function written for arrays of one length take scalars too: scalars in, scalars out."""

    @wraps(function)
    def call(*args):
        shape = next((x.shape for x in args if isinstance(x, np.ndarray)), None)
        out = function(*(x if isinstance(x, np.ndarray) else np.full(shape or 1, x) for x in args))
        if shape is not None:
            return out
        return tuple(x[0] for x in out) if isinstance(out, tuple) else out[0]

    return call


# --- integer division ------------------------------------------------------------------------------------------------


def floor_divide(a, b):
    """a // b for integers, rounded down; 0 where b is 0 and for the one quotient that overflows."""
    if isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
        value = int(b)
        if value > 0 and not value & (value - 1):
            return a >> b.dtype.type(value.bit_length() - 1)
    quotient = a // b
    if quotient.dtype.kind == "i":
        minus_one = b == -1
        if minus_one.any():
            # smallest // -1 does not fit: the division is skipped and gives 0
            overflow = minus_one & (a == np.iinfo(quotient.dtype).min)
            quotient = quotient * ~overflow
    return quotient


def modulo(a, b):
    """a % b for integers with the sign of b; 0 where b is 0."""
    if isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
        value = int(b)
        if value > 0 and not value & (value - 1):
            return a & b.dtype.type(value - 1)
        if value and a.size >= _LONG:
            rest = a // b
            rest *= b
            return np.subtract(a, rest, out=rest)
    return a % b


def int_divmod(a, b):
    """(a // b, a % b) for integers."""
    return floor_divide(a, b), modulo(a, b)


def widened(ufunc: np.ufunc, dtype: np.dtype) -> Callable:
    """x -> ufunc(x) in the type of x, then converted to `dtype`."""
    return lambda x: ufunc(x).astype(dtype)


# --- powers ----------------------------------------------------------------------------------------------------------


# An exponent beyond this is left to the float64 pow, here as in numba.
POWER_LOOP_LIMIT = 0x10000


def _inverse_of_integers(power, base):
    """1 / power for power = base ** n: 0 but for the bases 1, -1 and 0; of 0, the smallest integer."""
    bits = power.dtype.itemsize * 8
    smallest = power.dtype.type(1) << power.dtype.type(bits - 1)
    unit = (base == 1) | (base == -1) if base.dtype.kind == "i" else base == 1
    return power * unit + smallest * (base == 0)


def constant_power(x, _exponent=None, *, exponent: int):
    """x ** exponent by squaring and multiplying, in the type of x."""
    n, square = abs(exponent), x
    power = None
    while n:
        if n & 1:
            power = square if power is None else power * square
        n >>= 1
        if n:
            square = square * square
    if power is None:
        power = np.ones_like(x)[()]
    if exponent >= 0:
        return power
    return _inverse_of_integers(power, x) if x.dtype.kind in "iu" else x.dtype.type(1) / power


@vector
def integer_power(a, b):
    """a ** b for integer b, lane by lane, in the type of a."""
    dtype, integers = a.dtype, a.dtype.kind in "iu"
    n = np.abs(b).astype(np.uint64)
    left = np.where(n <= POWER_LOOP_LIMIT, n, 0)
    power, square = np.ones(a.size, dtype), a
    while left.any():
        power = np.where(left & 1, power * square, power)
        left >>= 1
        square = square * square
    negative = b < 0
    if negative.any() and not integers:
        power = np.where(negative, 1 / power, power)
    large = n > POWER_LOOP_LIMIT
    if large.any():
        generic = np.power(a[large].astype(np.float64), b[large].astype(np.float64))
        power[large] = float_to_int(generic.dtype, dtype)(generic) if integers else generic
    if negative.any() and integers:
        power = np.where(negative, _inverse_of_integers(power, a), power)
    return power


@vector
def complex_power(a, b):
    """a ** b for complex numbers, through polar coordinates; a ** 0 is 1 and 0 ** imaginary is 0."""
    radius, angle = np.abs(a), np.angle(a).astype(a.real.dtype)
    length = np.power(radius, b.real)
    phase = angle * b.real
    turning = b.imag != 0
    length = np.where(turning, length / np.exp(angle * b.imag), length)
    phase = np.where(turning, phase + b.imag * np.log(radius), phase)
    out = np.empty_like(a)
    out.real, out.imag = length * np.cos(phase), length * np.sin(phase)
    out[(a.real == 0) & (b.real == 0)] = 0
    out[b == 0] = 1
    return out


# --- float to integer ------------------------------------------------------------------------------------------------


def float_to_int(src: np.dtype, dst: np.dtype, rounding: Callable | None = None) -> Callable:
    """x -> x as an integer, in the way of the instruction cvt.rzi: toward zero, and saturating.

    Beyond the range of `dst` comes its nearest end. NaN gives 0, except that conversions to 64 bits and from float64
    give the integer whose only bit is the highest one. From float32 and float64, 8-bit integers come by way of 16 bits
    and wrap from there, since that is how they are compiled. `rounding` (np.rint, np.floor, ...) replaces the
    truncation; float16 defaults to np.rint, which is what numba-cuda asks the hardware for.
    """
    if rounding is None and src == np.float16:
        rounding = np.rint
    work = dst if src == np.float16 else np.dtype(f"{dst.kind}{max(dst.itemsize, 2)}")
    limits = np.iinfo(work)
    wide = np.promote_types(src, np.float32)
    low, high = wide.type(limits.min) - wide.type(1), wide.type(limits.max) + wide.type(1)
    top_bit = work.type(1) << work.type(8 * work.itemsize - 1)
    not_a_number = top_bit if work.itemsize == 8 or src == np.float64 else work.type(0)

    def convert(x):
        value = x if src == wide else x.astype(wide)
        if rounding is not None:
            value = rounding(value)
        inside = (value > low) & (value < high)
        if inside.all():
            return value.astype(work).astype(dst, copy=False)
        return saturated(value, inside)

    @vector
    def saturated(value, inside):
        out = np.where(inside, value, wide.type(0)).astype(work)
        out[value >= high] = limits.max
        out[value <= low] = limits.min
        out[np.isnan(value)] = not_a_number
        return out.astype(dst, copy=False)

    return convert
