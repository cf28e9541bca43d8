"""Integer division and powers with the GPU's results, over NumPy scalars and arrays.

Every function takes any mix of NumPy scalars and 1-D arrays of one length and returns a NumPy scalar or an array of
the promised dtype. None raises, whatever the values; run them under `np.errstate(all="ignore")`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpukit.machine.arithmetic.casts import float_to_int
from gpukit.machine.arithmetic.elementwise import vector

# From this many elements on, a - (a // c) * c beats a % c: NumPy divides by one constant with vector instructions.
_LONG = 1024


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
            overflow = minus_one & (a == quotient.dtype.type(np.iinfo(quotient.dtype).min))
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
