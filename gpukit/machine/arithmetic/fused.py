"""The fused multiply-add x * y + z, rounded once to nearest, where one cheap test tells the lanes that need care.

Both functions compute a result that is right unless the exact sum lies beside a number halfway between two results,
and take such lanes (about one in 2**29, or a whole array of chosen numbers) the careful way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpukit.machine.arithmetic.elementwise import vector
from gpukit.machine.arithmetic.pieces import in_pieces

_FLOAT64 = np.dtype(np.float64)
_LOWEST = np.int64(-(1 << 63))
_FRACTION = np.int64((1 << 52) - 1)
_SPLIT = np.float64((1 << 27) + 1)
# A product of at least this size has an error term that is not subnormal.
_EXACT_PRODUCT = np.float64(2.0**-900)


def narrow(dtype: np.dtype, careful: Callable) -> Callable:
    """(x, y, z) -> x * y + z for float32 or float16, computed in float64; `careful` has the right result for any lane.

    The product is exact in float64. Where the sum is rounded there and then once more to `dtype`, the result can be
    wrong only if the first rounding ended on a number halfway between two neighbours in `dtype`: rounding is monotone
    and such numbers are float64 numbers. For normal results they are known by their low bits.
    """
    info, repaired = np.finfo(dtype), _repair(careful)
    above = np.int64(63 - (51 - info.nmant))  # shifts the highest bit that `dtype` drops to the top
    normal = info.smallest_normal

    @in_pieces
    def fma(x, y, z):
        total = np.add(np.multiply(x, y, dtype=_FLOAT64), z, dtype=_FLOAT64)
        result = total.astype(dtype)
        halfway = total.view(np.int64) << above
        doubtful = halfway == _LOWEST if (halfway.min() == _LOWEST) else None
        size = np.abs(result)
        if not size.min() > normal:  # zeros, which are right, and subnormal numbers, whose halfway numbers are others
            small = (size <= normal) & (total != 0)
            if small.any():
                doubtful = small if doubtful is None else doubtful | small
        return result if doubtful is None else repaired(result, doubtful, x, y, z)

    return fma


def double(careful: Callable) -> Callable:
    """(x, y, z) -> x * y + z for float64; `careful` has the right result for any lane.

    With the product p + e and the sum p + z = s + t, both exact, the result is s + (t + e) rounded. The inner sum is
    inexact in most lanes, but by less than the distance of s + (t + e) to any number halfway between two float64
    numbers, unless it is one: then the outer sum is off by a power of two.
    """
    repaired = _repair(careful)

    @in_pieces
    def fma(x, y, z):
        p = x * y
        x1, y1 = _SPLIT * x, _SPLIT * y
        x1, y1 = x1 - (x1 - x), y1 - (y1 - y)
        x2, y2 = x - x1, y - y1
        e = x2 * y2 - (((p - x1 * y1) - x2 * y1) - x1 * y2)
        s = p + z
        back = s - p
        rest = ((p - (s - back)) + (z - back)) + e
        result = s + rest
        off = rest - (result - s)
        doubtful = (off.view(np.int64) & _FRACTION) == 0
        if doubtful.any():
            doubtful &= off != 0
        # Also where the error of the product may be subnormal, and where a step above has overflowed.
        sound = (np.abs(p) >= _EXACT_PRODUCT) & np.isfinite(result)
        if not sound.all():
            nothing = (x == 0) | (y == 0)
            result = np.where(nothing, s, result)[()]
            doubtful = (doubtful | ~sound) & ~nothing
        return repaired(result, doubtful, x, y, z) if doubtful.any() else result

    return fma


def _repair(careful: Callable) -> Callable:
    """(result, doubtful, x, y, z) -> `result` with the doubtful lanes computed again by `careful`."""

    @vector
    def repaired(result, doubtful, x, y, z):
        out = result.copy()
        out[doubtful] = careful(x[doubtful], y[doubtful], z[doubtful])
        return out

    return repaired
