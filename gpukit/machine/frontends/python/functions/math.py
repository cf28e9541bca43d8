"""The modules math and cmath, Python's built-in functions and operator, as numba types them on CUDA.

The result types are not always Python's: on the GPU math.floor(x) is a float, math.frexp gives an int32 exponent, and a
function of a 32-bit integer is computed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

import numpy as np

from gpukit.machine.arithmetic.casts import float_to_int
from gpukit.machine.arithmetic.elementwise import vector
from gpukit.machine.frontends.python import types
from gpukit.machine.frontends.python.functions.base import (
    Function,
    elementwise,
    gamma,
    lgamma,
    rule,
    rules,
    typed,
)
from gpukit.machine.frontends.python.types import Rule

erf, erfc = elementwise(math.erf), elementwise(math.erfc)
gamma_of, lgamma_of = elementwise(gamma), elementwise(lgamma)


def cbrt(x):
    """The real cube root; of a float32 through float64, as NumPy's own is not exact at cubes."""
    return np.cbrt(x.astype(np.float64)).astype(x.dtype)


def degrees(x):
    """Radians to degrees: one multiplication in the type of x, as numba-cuda does it."""
    return x * x.dtype.type(180.0 / math.pi)


def radians(x):
    """Degrees to radians: one multiplication in the type of x, as numba-cuda does it."""
    return x * x.dtype.type(math.pi / 180.0)


@vector
def remainder(x, y):
    """IEEE remainder: x minus the nearest multiple of y (the even one on a tie); NaN for infinite x and zero y."""
    return remainder_and_quotient(x, y)[0]


@vector
def remainder_and_quotient(x, y):
    """(IEEE remainder, int32 with the sign and the low three bits of the quotient)."""
    valid = np.isfinite(x) & ~np.isnan(y) & (y != 0)
    rest, divisor = np.where(valid, np.abs(x), 1).astype(x.dtype), np.where(valid, np.abs(y), 1).astype(x.dtype)
    huge = divisor > np.finfo(x.dtype).max / 8
    rest = np.where(huge, rest, np.fmod(rest, np.where(huge, 1, divisor * x.dtype.type(8))))
    quotient = np.zeros(x.shape, np.int32)
    for multiple in (4, 2, 1):
        step = divisor * x.dtype.type(multiple)  # exact, or infinite and then never reached
        fits = rest >= step
        rest = np.where(fits, rest - np.where(fits, step, 0), rest)
        quotient += np.where(fits, np.int32(multiple), np.int32(0))
    # rest is below divisor; take one more where that is nearer, comparing without overflow
    excess = rest - (divisor - rest)
    up = (excess > 0) | ((excess == 0) & (quotient & 1 == 1))
    rest = np.where(up, rest - divisor, rest)
    quotient = (quotient + up.astype(np.int32)) & np.int32(7)
    out = np.where(valid, np.copysign(1, x).astype(x.dtype) * rest, np.nan).astype(x.dtype)
    return out, np.where(valid, np.where(np.signbit(x) != np.signbit(y), -quotient, quotient), 0).astype(np.int32)


def _always(value: bool) -> Callable:
    return lambda x: np.full(x.shape, value)[()]


# --- math ------------------------------------------------------------------------------------------------------------

_UNARY: dict[str, Callable] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "cosh": np.cosh, "degrees": degrees, "erf": erf, "erfc": erfc, "expm1": np.expm1,
    "gamma": gamma_of, "lgamma": lgamma_of, "log1p": np.log1p, "radians": radians, "sinh": np.sinh, "tan": np.tan,
    "tanh": np.tanh,
}  # fmt: skip
_UNARY_HALF: dict[str, Callable] = {
    "sin": np.sin, "cos": np.cos, "ceil": np.ceil, "floor": np.floor, "sqrt": np.sqrt, "log": np.log, "log2": np.log2,
    "log10": np.log10, "exp": np.exp, "exp2": np.exp2, "fabs": np.abs, "trunc": np.trunc,
}  # fmt: skip


def _unary(code: Callable, half: bool) -> list[Rule]:
    def of_integer(x):
        return code(x.astype(np.float64))

    forms = [("l>d", of_integer), ("L>d", of_integer), ("f>f", code), ("d>d", code)]
    return [rule(form, used, "float") for form, used in forms + [("e>e", code)] * half]


def _binary(code: Callable, integers: bool = False) -> list[Rule]:
    def of_integers(x, y):
        return code(x.astype(np.float64), y.astype(np.float64))

    whole = [rule(form, of_integers, "float") for form in ("ll>d", "LL>d")] * integers
    return whole + [rule(form, code, "float") for form in ("ff>f", "dd>d")]


def _classify(code: Callable, of_integers: bool) -> list[Rule]:
    whole = [rule(form, _always(of_integers)) for form in ("l>?", "L>?")]
    return whole + [rule(form, code) for form in ("f>?", "d>?")]


def power_of_integer(x, n):
    """x ** n for an int32 n, by pow in float64, where every n is exact."""
    return np.power(x.astype(np.float64), n.astype(np.float64)).astype(x.dtype)


def _math() -> list[Function]:
    table = {name: _unary(code, half=False) for name, code in _UNARY.items()}
    table |= {name: _unary(code, half=True) for name, code in _UNARY_HALF.items()}
    table |= {"atan2": _binary(np.arctan2, integers=True), "hypot": _binary(np.hypot, integers=True)}
    table |= {"copysign": _binary(np.copysign), "fmod": _binary(np.fmod), "nextafter": _binary(np.nextafter)}
    table["remainder"] = _binary(remainder)
    table["pow"] = _binary(np.power) + [rule(form, power_of_integer, "float") for form in ("fi>f", "di>d")]
    table["frexp"] = [rule(form, np.frexp) for form in ("f>fi", "d>di")]
    table["ldexp"] = [rule(form, np.ldexp, "float") for form in ("fi>f", "di>d")]
    table["modf"] = [rule(form, np.modf) for form in ("d>dd", "f>ff")]
    table["isnan"] = _classify(np.isnan, False)
    table["isinf"] = _classify(np.isinf, False)
    table["isfinite"] = _classify(np.isfinite, True)
    return [rules(f"math.{name}", choices) for name, choices in table.items()]


# --- cmath -----------------------------------------------------------------------------------------------------------


def _complex_log10(z):
    return np.log(z) / z.real.dtype.type(math.log(10.0))


def _complex_log_base(z, base):
    return np.log(z) / np.log(base)


@vector
def _rectangular(r, phi):
    """r * (cos(phi) + i sin(phi)), where an infinite radius keeps an exactly zero component zero."""
    cosine, sine = np.cos(phi), np.sin(phi)
    out = np.empty(r.shape, np.result_type(r.dtype, np.complex64))
    out.real = np.where((cosine == 0) & np.isinf(r), cosine / r, cosine * r)
    out.imag = np.where((sine == 0) & np.isinf(r), sine / r, sine * r)
    undefined = ~np.isfinite(phi)
    origin, distant = undefined & (r == 0), undefined & np.isinf(r)
    out[origin] = 0
    out.real[distant], out.imag[distant] = r[distant], phi[distant]
    return out


def _rect(r: np.dtype, phi: np.dtype) -> Rule | None:
    if r not in types.REALS or phi not in types.REALS:
        return None
    both = np.promote_types(r, phi)
    return Rule((both, both), (np.promote_types(both, np.complex64),), _rectangular)


def _phase(z):
    return np.arctan2(z.imag, z.real)


def _polar(z):
    return np.abs(z), _phase(z)


def _cmath() -> list[Function]:
    # These take real numbers too (converted), ...
    unary = {
        "acos": np.arccos, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh,
        "cos": np.cos, "exp": np.exp, "sin": np.sin, "sqrt": np.sqrt, "tan": np.tan,
    }  # fmt: skip
    table = {name: [rule(f"{c}>{c}", code, "float") for c in "FD"] for name, code in unary.items()}
    table["log"] = [rule(f"{c}>{c}", np.log, "float") for c in "FD"]
    table["log"] += [rule(f"{c}{c}>{c}", _complex_log_base, "float") for c in "FD"]
    for name, code in {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}.items():
        table[name] = [rule(f"{c}>?", code) for c in "FD"]
    found = [rules(f"cmath.{name}", choices) for name, choices in table.items()]
    # ... while these take complex numbers alone.
    strict: dict[str, tuple[Callable, str, str]] = {
        "acosh": (np.arccosh, "F", "D"), "cosh": (np.cosh, "F", "D"), "sinh": (np.sinh, "F", "D"),
        "tanh": (np.tanh, "F", "D"), "log10": (_complex_log10, "F", "D"), "phase": (_phase, "f", "d"),
        "polar": (_polar, "ff", "dd"),
    }  # fmt: skip
    for name, (function, single, double) in strict.items():
        by_type = {types.COMPLEX64: rule(f"F>{single}", function), types.COMPLEX128: rule(f"D>{double}", function)}
        found.append(typed(f"cmath.{name}", f"cmath.{name}(complex)", by_type.get, 1))
    found.append(typed("cmath.rect", "cmath.rect(float, float)", _rect, 2))
    return found


# --- built-in functions ----------------------------------------------------------------------------------------------


def _abs(x: np.dtype) -> Rule | None:
    choices = [Rule((t,), (t,), "{0}" if t.kind == "u" else "abs({0})") for t in types.TYPES if t.kind in "iuf"]
    choices += [Rule((t,), (np.empty(0, t).real.dtype,), np.abs) for t in types.COMPLEX]
    return types.choose(choices, (x,))


def _pick(better: Callable) -> Callable:
    """min or max as Python computes it: from the left, and a later value wins only if it compares better."""

    def pick(*values):
        best = reduce(lambda kept, new: np.where(better(new, kept), new, kept), values)
        return best[()] if isinstance(best, np.ndarray) and best.ndim == 0 else best

    return pick


def _extreme(ufunc: np.ufunc, ieee: np.ufunc, better: np.ufunc) -> Callable[..., Rule | None]:
    def by_types(*args: np.dtype) -> Rule | None:
        if len(args) < 2 or any(t.kind == "c" for t in args):
            return None
        result = reduce(np.promote_types, args)
        if result.kind != "f":
            code: Callable = ufunc if len(args) == 2 else lambda *values: reduce(ufunc, values)
        else:
            # Two float32 or float64 go to the fmin/fmax instruction, which prefers a number to a NaN.
            hardware = len(args) == 2 and all(t in types.REALS for t in args)
            code = ieee if hardware else _pick(better)
        return Rule((result,) * len(args), (result,), code)

    return by_types


@vector
def _round_to(x, digits):
    """round(x, digits): scale by a power of ten, round half to even, scale back, in float64."""
    value, n = x.astype(np.float64), np.abs(digits)
    scale = _power_of_ten(np.minimum(n, 22))
    more = _power_of_ten(np.maximum(n - 22, 0))
    grown = value * more * scale
    up = np.where(np.isfinite(grown), np.rint(grown) / scale / more, value)
    all_of_it = _power_of_ten(n)
    down = np.rint(value / all_of_it) * all_of_it
    rounded = np.where(digits >= 0, up, down)
    return np.where(np.isfinite(value), rounded, value).astype(x.dtype)


def _power_of_ten(n):
    """10.0 ** n for an array of non-negative integers."""
    return np.power(10.0, n.astype(np.float64))


def _round(*args: np.dtype) -> Rule | None:
    choices = []
    for real in types.REALS:
        to_int = float_to_int(real, types.INT64, np.rint)
        choices.append(Rule((real,), (types.INT64,), to_int))
        choices.append(Rule((real, types.INT64), (real,), _round_to))
    return types.choose(choices, args)


def constructor(name: str, dtype: np.dtype) -> Function:
    """The function that casts its argument to `dtype`, as np.int32(x) does."""

    def by_types(arg: np.dtype) -> Rule | None:
        if not types.can_cast(arg, dtype):
            return None
        return Rule((arg,), (dtype,), types.cast(arg, dtype) or "{0}")

    return typed(name, f"{name}(number)", by_types, 1)


def _int(arg: np.dtype) -> Rule | None:
    if arg.kind == "c":
        return None
    result = arg if arg.kind in "iu" else types.INT64
    return Rule((arg,), (result,), types.cast(arg, result) or "{0}")


def _float(arg: np.dtype) -> Rule | None:
    if arg.kind not in "iuf":
        return None
    result = arg if arg.kind == "f" else types.FLOAT64
    return Rule((arg,), (result,), types.cast(arg, result) or "{0}")


def _complex_from(real, imag):
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, np.complex64))
    out.real, out.imag = real, imag
    return out[()]


def _complex(*args: np.dtype) -> Rule | None:
    if types.BOOL in args:
        return None
    single = all(arg == types.FLOAT32 for arg in args)
    result = types.COMPLEX64 if single else types.COMPLEX128
    if len(args) == 1:
        return Rule(args, (result,), types.cast(args[0], result) or "{0}")
    if any(arg.kind == "c" for arg in args):
        return None
    part = types.FLOAT32 if single else types.FLOAT64
    return Rule((part, part), (result,), _complex_from)


def _power(args: tuple[np.dtype, ...], constants: tuple[object | None, ...]) -> Rule | None:
    if len(args) != 2:
        return None
    exponent = constants[1]
    return types.power(*args, exponent if isinstance(exponent, int | float) else None)


def _builtins() -> list[Function]:
    return [
        typed("builtins.abs", "abs(number)", _abs, 1),
        typed(
            "builtins.min",
            "min(a, b, ...) of real numbers",
            _extreme(np.minimum, np.fmin, np.less),
            tuple(range(2, 33)),
        ),
        typed(
            "builtins.max",
            "max(a, b, ...) of real numbers",
            _extreme(np.maximum, np.fmax, np.greater),
            tuple(range(2, 33)),
        ),
        typed("builtins.round", "round(float) or round(float, digits)", _round, (1, 2)),
        typed("builtins.divmod", "divmod(a, b) of real numbers", lambda a, b: types.binary("divmod", a, b), 2),
        typed("builtins.int", "int(real number)", _int, 1),
        typed("builtins.float", "float(real number)", _float, 1),
        typed("builtins.bool", "bool(number)", types.truth, 1),
        typed("builtins.complex", "complex(number) or complex(real, imag)", _complex, (1, 2)),
        Function("builtins.pow", "pow(base, exponent)", _power),
    ]


# --- operator --------------------------------------------------------------------------------------------------------

_BINARY_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "lshift": "<<", "rshift": ">>",
    "and_": "&", "or_": "|", "xor": "^",
}  # fmt: skip
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNARY_OPERATORS = {"neg": "-", "pos": "+", "invert": "~", "inv": "~", "not_": "not"}


def _operator() -> list[Function]:
    inplace = {"i" + name.rstrip("_"): op for name, op in _BINARY_OPERATORS.items()}
    binary = {**_BINARY_OPERATORS, **inplace, **_COMPARISONS}
    found = [
        typed(f"operator.{name}", f"operator.{name}(a, b)", lambda a, b, op=op: types.binary(op, a, b), 2)
        for name, op in binary.items()
    ]
    found += [
        typed(f"operator.{name}", f"operator.{name}(a)", lambda a, op=op: types.unary(op, a), 1)
        for name, op in _UNARY_OPERATORS.items()
    ]
    found += [Function(f"operator.{name}", f"operator.{name}(a, b)", _power) for name in ("pow", "ipow")]
    found.append(typed("operator.abs", "operator.abs(a)", _abs, 1))
    found.append(typed("operator.truth", "operator.truth(a)", types.truth, 1))
    return found


FUNCTIONS = [*_math(), *_cmath(), *_builtins(), *_operator()]
