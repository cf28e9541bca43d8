"""The module cuda.fp16: arithmetic, comparisons, functions and conversions of half-precision numbers.

Arithmetic, square root and conversions round once, as the hardware does. The transcendental functions are computed in
float32 and rounded; the GPU's may differ from that in the last bit, and `htanh_approx` in a few more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpukit.machine.arithmetic import rounding
from gpukit.machine.frontends.python import types
from gpukit.machine.frontends.python.functions.base import Function, rule, rules
from gpukit.machine.frontends.python.types import FLOAT16, Rule

_fma = rounding.fma(FLOAT16)


def through_float32(function: Callable) -> Callable:
    """A function of one float16, computed in float32 and rounded."""
    return lambda x: function(x.astype(np.float32)).astype(np.float16)


def _exp10(x):
    return np.power(np.float32(10), x)


def _rsqrt(x):
    return np.float32(1) / np.sqrt(x)


def _saturated(function: Callable) -> Callable:
    """The result clamped to [0, 1], NaN to 0."""

    def clamp(*args):
        result = function(*args)
        return np.where(result > 0, np.fmin(result, np.float16(1)), np.float16(0))[()]

    return clamp


def _relu(x, y, z):
    result = _fma(x, y, z)
    return np.where(result < 0, np.float16(0), result)[()]


def _or_unordered(compare: np.ufunc) -> Callable:
    """The comparison that is also true when either side is NaN."""
    return lambda x, y: compare(x, y) | np.isnan(x) | np.isnan(y)


def _infinite(x):
    return np.isinf(x).astype(np.int32) * np.sign(x.astype(np.float32)).astype(np.int32)


def _table() -> dict[str, list[Rule]]:
    arithmetic: dict[str, Callable] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    unary: dict[str, Callable] = {
        "hcos": np.cos, "hsin": np.sin, "hexp": np.exp, "hexp2": np.exp2, "hexp10": _exp10, "hlog": np.log,
        "hlog2": np.log2, "hlog10": np.log10, "hrsqrt": _rsqrt, "hrcp": lambda x: np.float32(1) / x, "hsqrt": np.sqrt,
        "htanh": np.tanh, "htanh_approx": np.tanh,
    }  # fmt: skip
    exact: dict[str, Callable] = {"hceil": np.ceil, "hfloor": np.floor, "hrint": np.rint, "htrunc": np.trunc}
    comparisons: dict[str, np.ufunc] = {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
        "ge": np.greater_equal,
    }  # fmt: skip
    table: dict[str, list[Rule]] = {}
    for name, code in arithmetic.items():
        table[f"h{name}"] = table[f"__h{name}"] = [rule("ee>e", code, "float")]
        if name != "div":
            table[f"__h{name}_rn"] = table[f"h{name}"]
            table[f"__h{name}_sat"] = [rule("ee>e", _saturated(code))]
    for name, code in unary.items():
        table[name] = [rule("e>e", through_float32(code), "float")]
    for name, code in exact.items():
        table[name] = [rule("e>e", code)]
    table["habs"] = table["__habs"] = [rule("e>e", np.abs)]
    table["hneg"] = table["__hneg"] = [rule("e>e", np.negative)]
    table["hfma"] = table["__hfma"] = [rule("eee>e", _fma, "float")]
    table["__hfma_sat"], table["__hfma_relu"] = [rule("eee>e", _saturated(_fma))], [rule("eee>e", _relu)]
    table["hmax"] = table["__hmax"] = [rule("ee>e", np.fmax)]
    table["hmin"] = table["__hmin"] = [rule("ee>e", np.fmin)]
    table["__hmax_nan"], table["__hmin_nan"] = [rule("ee>e", np.maximum)], [rule("ee>e", np.minimum)]
    for name, compare in comparisons.items():
        ordered = compare if name != "ne" else lambda x, y: (x < y) | (x > y)
        table[f"h{name}"] = table[f"__h{name}"] = [rule("ee>?", ordered)]
        table[f"__h{name}u"] = [rule("ee>?", _or_unordered(compare))]
    table["__hisnan"], table["__hisinf"] = [rule("e>?", np.isnan)], [rule("e>i", _infinite)]
    table |= _conversions()
    return table


_INTEGERS = [
    ("short", "h", types.INT16), ("ushort", "H", types.UINT16), ("int", "i", types.INT32), ("uint", "I", types.UINT32),
    ("ll", "l", types.INT64), ("ull", "L", types.UINT64),
]  # fmt: skip


def _conversions() -> dict[str, list[Rule]]:
    table: dict[str, list[Rule]] = {}
    for name, letter, dtype in _INTEGERS:
        for mode in rounding.MODES:
            table[f"__{name}2half_{mode}"] = [rule(f"{letter}>e", rounding.convert(dtype, FLOAT16, mode))]
            table[f"__half2{name}_{mode}"] = [rule(f"e>{letter}", rounding.convert(FLOAT16, dtype, mode))]
    for name, letter in {"char": "b", "uchar": "B"}.items():
        table[f"__half2{name}_rz"] = [rule(f"e>{letter}", rounding.convert(FLOAT16, np.dtype(letter), "rz"))]
    for mode in rounding.MODES:
        table[f"__float2half_{mode}"] = [rule("f>e", rounding.convert(types.FLOAT32, FLOAT16, mode))]
    table["__float2half"] = table["__float2half_rn"]
    table["__double2half"] = [rule("d>e", rounding.convert(types.FLOAT64, FLOAT16, "rn"))]
    table["__half2float"] = [rule("e>f", lambda x: x.astype(np.float32))]
    table["__short_as_half"] = [rule("h>e", lambda x: x.view(np.float16))]
    table["__ushort_as_half"] = [rule("H>e", lambda x: x.view(np.float16))]
    table["__half_as_short"] = [rule("e>h", lambda x: x.view(np.int16))]
    table["__half_as_ushort"] = [rule("e>H", lambda x: x.view(np.uint16))]
    return table


FUNCTIONS: list[Function] = [rules(f"cuda.fp16.{name}", choices) for name, choices in _table().items()]
