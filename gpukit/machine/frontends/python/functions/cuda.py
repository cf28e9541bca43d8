"""The scalar functions of the module cuda itself: bit counting, fma, cbrt and selp."""

from __future__ import annotations

import numpy as np

from gpukit.machine.arithmetic import rounding
from gpukit.machine.frontends.python import types
from gpukit.machine.frontends.python.functions import bits
from gpukit.machine.frontends.python.functions.base import Function, rule, rules, typed
from gpukit.machine.frontends.python.functions.math import cbrt
from gpukit.machine.frontends.python.types import Rule


def select(test, a, b):
    """a where `test` holds, else b; all three evaluated."""
    return np.where(test, a, b)[()]


def _selp(test: np.dtype, a: np.dtype, b: np.dtype) -> Rule | None:
    selectable = {*types.REALS, *types.SIGNED, *types.UNSIGNED} - {types.INT8, types.UINT8}
    if a != b or a not in selectable or not types.can_cast(test, types.BOOL):
        return None
    return Rule((types.BOOL, a, a), (a,), select)


_INTEGERS = "bhilBHIL"

FUNCTIONS: list[Function] = [
    rules("cuda.popc", [rule(f"{c}>{c}", bits.population_count) for c in _INTEGERS]),
    rules("cuda.clz", [rule(f"{c}>{c}", bits.leading_zeros) for c in _INTEGERS]),
    rules("cuda.ffs", [rule(f"{c}>I", bits.find_first_set) for c in _INTEGERS]),
    rules("cuda.brev", [rule(f"{c}>{c}", bits.reverse) for c in "IL"]),
    rules("cuda.fma", [rule(f"{c * 3}>{c}", rounding.fma(np.dtype(c)), "float") for c in "fd"]),
    rules("cuda.cbrt", [rule(f"{c}>{c}", cbrt, "float") for c in "fd"]),
    typed("cuda.selp", "cuda.selp(condition, a, b) with a and b of one type of 16 bits or more", _selp, 3),
]
