"""NumPy's reductions of whole arrays, written in the kernel language: `x.sum()` in a kernel is a loop in each thread.

These are compiled like any device function. Nobody calls them in Python. Types are numba's: integers are summed as
64-bit integers, floats in their own type; means are float64 except of float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def _sum(a):
    zero = a.dtype.type(0)
    total = zero + zero
    for x in a:
        if a.ndim > 1:
            total += _sum(x)
        else:
            total += x
    return total


def _prod(a):
    one = a.dtype.type(1)
    total = one * one
    for x in a:
        if a.ndim > 1:
            total *= _prod(x)
        else:
            total *= x
    return total


def _mean(a):
    return _sum(a) / a.dtype.type(a.size) if a.dtype.kind == "f" else _sum(a) / a.size


def _squares(a, mean):
    total = mean - mean
    for x in a:
        if a.ndim > 1:
            total += _squares(x, mean)
        else:
            total += (x - mean) * (x - mean)
    return total


def _var(a):
    return _squares(a, _mean(a)) / a.size


def _std(a):
    return math.sqrt(_var(a))


def _min(a):
    best = _first(a)
    for x in a:
        y = _min(x) if a.ndim > 1 else x
        if y < best or y != y:  # NaN wins, as in NumPy
            best = y
        if best != best:
            return best
    return best


def _max(a):
    best = _first(a)
    for x in a:
        y = _max(x) if a.ndim > 1 else x
        if y > best or y != y:
            best = y
        if best != best:
            return best
    return best


def _first(a):
    if a.ndim > 1:
        return _first(a[0])
    return a[0]


def _nanmin(a):
    best = a.dtype.type(np.nan)
    for x in a:
        y = _nanmin(x) if a.ndim > 1 else x
        if y < best or best != best:
            best = y
    return best


def _nanmax(a):
    best = a.dtype.type(np.nan)
    for x in a:
        y = _nanmax(x) if a.ndim > 1 else x
        if y > best or best != best:
            best = y
    return best


def _nansum(a):
    zero = a.dtype.type(0)
    total = zero + zero
    for x in a:
        if a.ndim > 1:
            total += _nansum(x)
        elif x == x:
            total += x
    return total


def _nanprod(a):
    one = a.dtype.type(1)
    total = one * one
    for x in a:
        if a.ndim > 1:
            total *= _nanprod(x)
        elif x == x:
            total *= x
    return total


def _nancount(a):
    count = 0
    for x in a:
        if a.ndim > 1:
            count += _nancount(x)
        elif x == x:
            count += 1
    return count


def _nanmean(a):
    return _nansum(a) / _nancount(a)


def _count_nonzero(a):
    count = 0
    for x in a:
        if a.ndim > 1:
            count += _count_nonzero(x)
        elif x:
            count += 1
    return count


def _any(a):
    return _count_nonzero(a) > 0


def _all(a):
    return _count_nonzero(a) == a.size


FUNCTIONS: dict[str, Callable] = {
    "numpy.sum": _sum,
    "numpy.prod": _prod,
    "numpy.mean": _mean,
    "numpy.var": _var,
    "numpy.std": _std,
    "numpy.min": _min,
    "numpy.amin": _min,
    "numpy.max": _max,
    "numpy.amax": _max,
    "numpy.nanmin": _nanmin,
    "numpy.nanmax": _nanmax,
    "numpy.nansum": _nansum,
    "numpy.nanprod": _nanprod,
    "numpy.nanmean": _nanmean,
    "numpy.count_nonzero": _count_nonzero,
    "numpy.any": _any,
    "numpy.all": _all,
}
METHODS = ("sum", "prod", "mean", "var", "std", "min", "max", "any", "all")
