"""Casts from float to integer with the GPU's results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpukit.machine.arithmetic.elementwise import vector


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
