"""The two 8-bit float formats, e4m3 and e5m2, by way of float16, which holds every number of both.

A conversion is a look-up: 256 codes give their float16, 65,536 float16 give their code. A float32 is first rounded to
float16 by "round to odd", so that the second rounding still sees on which side of a code it lay.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from gpukit.machine.arithmetic import halves
from gpukit.machine.arithmetic.pieces import in_pieces

CODE = np.dtype(np.uint8)
_SIGN, _NAN = 0x80, 0x7F


@cache
def numbers(name: str) -> np.ndarray:
    """(256,) float16: the number of each code. e4m3 has no infinity and one NaN of each sign, e5m2 is a float16 cut
    to its upper byte."""
    codes = np.arange(256, dtype=halves.BITS)
    if name == "e5m2":
        return (codes << halves.BITS.type(8)).view(np.float16)
    exponent, mantissa = (codes >> 3 & 15).astype(np.int64), (codes & 7).astype(np.float64)
    magnitude = np.ldexp(np.where(exponent == 0, mantissa, mantissa + 8), np.maximum(exponent, 1) - 10)
    magnitude[codes & _NAN == _NAN] = np.nan
    return np.where(codes & _SIGN, -magnitude, magnitude).astype(np.float16)


@cache
def codes(name: str) -> np.ndarray:
    """(65536,) uint8: the code of each float16 by its bits, rounded to nearest even; beyond the largest number comes
    the largest number ("satfinite"), NaN gives 0x7F."""
    positive = numbers(name)[:_NAN].astype(np.float64)
    positive = positive[np.isfinite(positive)]
    bits = np.arange(65536, dtype=halves.BITS)
    value = bits.view(np.float16).astype(np.float64)
    magnitude = np.minimum(np.abs(value), positive[-1])
    # The nearest code is at or just below the first one that is not less; a tie goes to the even code.
    above = np.searchsorted(positive, magnitude)
    below = np.maximum(above - 1, 0)
    to_above, to_below = positive[np.minimum(above, len(positive) - 1)] - magnitude, magnitude - positive[below]
    nearest = np.where((to_below < to_above) | ((to_below == to_above) & (below % 2 == 0)), below, above)
    signed = nearest | np.where(np.signbit(value), _SIGN, 0)
    return np.where(np.isnan(value), _NAN, signed).astype(CODE)


def encode(name: str, half, relu: bool = False):
    """Codes (uint8) of float16 numbers given by their bits; with `relu` negative ones give 0."""
    code = codes(name)[half]
    return np.where(code < _SIGN, code, CODE.type(0))[()] if relu else code


@in_pieces
def encode_float32(name: str, value, relu: bool = False):
    """Codes (uint8) of float32 numbers."""
    return encode(name, halves.to_odd(value, halves.FLOAT16).view(halves.BITS), relu)
