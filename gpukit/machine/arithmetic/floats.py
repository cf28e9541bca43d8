"""Rules that NVIDIA's float units add to IEEE 754: which NaN comes out, flushed subnormal numbers, saturation, minimum
and maximum. All take NumPy scalars and arrays of one float type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

_SMALLEST_NORMAL = {np.dtype(t): np.finfo(t).smallest_normal for t in (np.float16, np.float32, np.float64)}
_NAN: dict[np.dtype, np.generic] = {
    np.dtype(np.float16): np.uint16(0x7FFF).view(np.float16),
    np.dtype(np.float32): np.uint32(0x7FFFFFFF).view(np.float32),
}
_QUIET, _MADE_HERE = np.uint64(1 << 51), np.uint64(0xFFF8 << 48)


def flush(x):
    """x with subnormal numbers turned into zeros of their sign."""
    normal = np.abs(x) >= _SMALLEST_NORMAL[x.dtype]
    return x if normal.all() else x * normal  # zeros and NaN stay what they are


def canonical(x):
    """x with every NaN turned into the one that arithmetic of this type gives."""
    nan = x != x
    return np.where(nan, _NAN[x.dtype], x)[()] if nan.any() else x


def with_payload(result, *operands):
    """A float64 result whose NaN are those of the operands: quiet, the first NaN among `operands`; one that was made
    here is the CPU's and the GPU's default. The bits of a NaN are otherwise up to the CPU and to NumPy."""
    nan = result != result
    if not nan.any():
        return result
    bits: np.ndarray | np.generic = _MADE_HERE
    for x in reversed(operands):
        bits = np.where(x != x, x.view(np.uint64) | _QUIET, bits)
    return np.where(nan, bits.view(np.float64), result)[()]


def saturate(x):
    """x limited to [0, 1]; NaN and -0 become +0."""
    return np.where(x > 0, np.minimum(x, x.dtype.type(1)), x.dtype.type(0))[()]


def _minimum(a, b):
    return _of_zeros(np.fmin(a, b), a, b, lambda x, y: -(-x - y))


def _maximum(a, b):
    return _of_zeros(np.fmax(a, b), a, b, np.add)


def _minimum_or_nan(a, b):
    return _of_zeros(np.minimum(a, b), a, b, lambda x, y: -(-x - y))


def _maximum_or_nan(a, b):
    return _of_zeros(np.maximum(a, b), a, b, np.add)


def _of_zeros(result, a, b, choose: Callable):
    """`result`, where both are zeros that of `choose`: NumPy may return either of +0 and -0."""
    zeros = (a == 0) & (b == 0)
    return np.where(zeros, choose(a, b), result)[()] if zeros.any() else result


_EXTREMA = {
    ("min", False): _minimum,
    ("max", False): _maximum,
    ("min", True): _minimum_or_nan,
    ("max", True): _maximum_or_nan,
}


def extremum(which: str, nan: bool = False, magnitude: bool = False, xorsign: bool = False) -> Callable:
    """(x, y, ...) -> their "min" or "max", with -0 below +0.

    A number wins over a NaN, or a NaN over all numbers with `nan`. `magnitude` compares, and gives, absolute values; of
    two operands `xorsign` gives the result the product of their signs.
    """
    two = _EXTREMA[which, nan]

    def best(*values):
        return reduce(two, (np.abs(v) for v in values) if magnitude else values)

    def signed(a, b):
        return np.copysign(best(a, b), np.copysign(a.dtype.type(1), a) * np.copysign(a.dtype.type(1), b))

    return signed if xorsign else best
