"""The two half-precision formats, float16 and bfloat16, by their bits: alone in 16 bits or two in 32.

NumPy has no bfloat16, and its float16 arithmetic is slow, so numbers of both formats are held as uint16. A sum or
product of two of them is computed in float32 and rounded once more, which gives the correctly rounded result: float32
has more than twice as many bits. A fused multiply-add needs more than that (see `fma`).

Every NaN that an operation makes is 0x7FFF, the one the GPU makes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from gpukit.machine.arithmetic import rounding
from gpukit.machine.arithmetic.elementwise import vector
from gpukit.machine.arithmetic.pieces import in_pieces

BITS, PAIR = np.dtype(np.uint16), np.dtype(np.uint32)
FLOAT16, FLOAT32, FLOAT64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
NAN, SIGN = BITS.type(0x7FFF), BITS.type(0x8000)
_ZERO, _UPPER = BITS.type(0), PAIR.type(16)


class Half(ABC):
    """One of the two formats. Methods take and give bits (uint16, scalars or 1-D arrays) where not said otherwise."""

    def __init__(self, name: str, infinity: int, one: int):
        self.name = name
        self.infinity = BITS.type(infinity)  # its bits are also those of the exponent field
        self.one = BITS.type(one)

    @abstractmethod
    def widen(self, bits):
        """The numbers as float32, exactly."""

    @abstractmethod
    def rounded(self, value, mode: str = "rn"):
        """Numbers of any integer or float type (float16 included), rounded once by `mode`, one of rounding.MODES."""

    @abstractmethod
    def fma(self, x, y, z):
        """x * y + z, rounded once."""

    def is_nan(self, bits):
        return (bits & 0x7FFF) > self.infinity

    def canonical(self, bits):
        """With every NaN replaced by 0x7FFF."""
        nan = self.is_nan(bits)
        return np.where(nan, NAN, bits)[()] if nan.any() else bits

    def flushed(self, bits):
        """Subnormal numbers replaced by a zero of their sign."""
        return np.where((bits & self.infinity) == 0, bits & SIGN, bits)[()]

    def saturated(self, bits):
        """Clamped to [0, 1], NaN to 0. (What is NaN or negative has larger bits than infinity.)"""
        return np.where(bits > self.infinity, _ZERO, np.minimum(bits, self.one))[()]

    def relu(self, bits):
        """Negative numbers replaced by 0; a NaN stays one."""
        return np.where(bits < SIGN, bits, np.where(self.is_nan(bits), NAN, _ZERO))[()]

    def finite(self, bits):
        """Infinities replaced by the largest finite number of their sign."""
        return bits - ((bits & 0x7FFF) == self.infinity)

    def ordered(self, bits):
        """int16 that are ordered as the numbers are, with -0 below +0. The same function leads back."""
        signed = bits.view(np.int16)
        return signed ^ ((signed >> np.int16(15)) & np.int16(0x7FFF))


class _Float16(Half):
    def widen(self, bits):
        return bits.view(FLOAT16).astype(FLOAT32)

    def rounded(self, value, mode: str = "rn"):
        return self.canonical(cast(value, FLOAT16, mode).view(BITS))

    @in_pieces
    def fma(self, x, y, z):
        # What a float64 sum loses never decides how 11 bits are rounded: where the exact sum needs more than 53 bits,
        # it overflows or lies nowhere near the middle between two float16.
        x, y, z = (bits.view(FLOAT16).astype(FLOAT64) for bits in (x, y, z))
        return self.rounded(x * y + z)


class _BFloat16(Half):
    """The upper half of a float32."""

    def widen(self, bits):
        return (bits.astype(PAIR) << _UPPER).view(FLOAT32)

    def rounded(self, value, mode: str = "rn"):
        if value.dtype == FLOAT64:
            value = to_odd(value, FLOAT32)
        elif value.dtype.kind in "iu":
            value = _integer_to_odd(value)
        elif value.dtype == FLOAT16:
            value = value.astype(FLOAT32)
        bits = value.view(PAIR)
        if mode == "rn":
            up = ((bits >> _UPPER) & PAIR.type(1)) + PAIR.type(0x7FFF)
        elif mode == "rz":
            up = PAIR.type(0)
        else:  # away from zero on one side of it
            up = (np.signbit(value) == (mode == "rd")).astype(PAIR) * PAIR.type(0xFFFF)
        nan = np.isnan(value)
        result = ((bits + up) >> _UPPER).astype(BITS)
        return np.where(nan, NAN, result)[()] if nan.any() else result

    @in_pieces
    def fma(self, x, y, z):
        x, y, z = (self.widen(bits).astype(FLOAT64) for bits in (x, y, z))
        product = x * y  # exact
        total = product + z
        back = total - product
        return self.rounded(to_odd(total, FLOAT32, (product - (total - back)) + (z - back)))


F16: Half = _Float16("f16", 0x7C00, 0x3C00)
BF16: Half = _BFloat16("bf16", 0x7F80, 0x3F80)


def cast(value, dtype: np.dtype, mode: str = "rn"):
    """Numbers of any integer or float type as float16, float32 or float64, rounded once by `mode`."""
    if mode == "rn" or value.dtype == dtype:
        return value.astype(dtype)
    if value.dtype.kind in "iu":
        return in_pieces(rounding.convert(value.dtype, dtype, mode))(value)
    nearest = value.astype(dtype)
    back = nearest.astype(value.dtype)
    # As integers, neighbours are one apart.
    bits = nearest.view(f"u{dtype.itemsize}")
    if mode == "rz":
        return (bits - (np.abs(back) > np.abs(value))).view(dtype)
    wrong = back < value if mode == "ru" else back > value
    away = np.signbit(value) == (mode == "rd")
    return (bits + (wrong & away) - (wrong & ~away)).view(dtype)


@in_pieces
def to_odd(total, dtype: np.dtype, lost=None):
    """A sum whose exact value is total + lost (lost: none, or what rounding the sum to `total` left over), rounded to
    odd as the narrower `dtype`: toward zero, and the last bit set where that changed it. Rounding this once more, to at
    least two bits fewer, is as good as rounding the exact value."""
    nearest = total.astype(dtype)
    back = nearest.astype(total.dtype)
    inexact = back != total
    away = np.abs(back) > np.abs(total)
    if lost is not None:
        away |= ~inexact & (lost * np.sign(total) < 0)
        inexact |= lost != 0
    inexact &= np.isfinite(total)
    bits = nearest.view(f"u{dtype.itemsize}")
    return ((bits - (away & inexact)) | inexact).view(dtype)


def _integer_to_odd(value):
    """Integers as float32 rounded to odd."""
    if value.dtype.itemsize < 8:
        return to_odd(value.astype(FLOAT64), FLOAT32)
    high = (value >> value.dtype.type(32)).astype(FLOAT64) * 2.0**32
    low = (value & value.dtype.type(0xFFFFFFFF)).astype(FLOAT64)
    total = high + low
    return to_odd(total, FLOAT32, low - (total - high))


# --- pairs -----------------------------------------------------------------------------------------------------------


def packed(function: Callable) -> Callable:
    """A function over uint16 bits as one over pairs of them in uint32: it does both halves."""

    @in_pieces
    @vector
    def pairwise(*pairs):
        return function(*(np.ascontiguousarray(pair).view(BITS) for pair in pairs)).view(PAIR)

    return pairwise


def join(high, low):
    """Two halves (uint16 bits) as a pair (uint32)."""
    return (high.astype(PAIR) << _UPPER) | low


def split(pair):
    """The high and the low half of a pair."""
    return (pair >> _UPPER).astype(BITS), pair.astype(BITS)
