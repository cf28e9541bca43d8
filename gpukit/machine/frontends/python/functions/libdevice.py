"""The module cuda.libdevice: NVIDIA's libdevice functions that have an equivalent in NumPy or the standard library.

Types are libdevice's own: unsigned values travel in int32 and int64, out-parameters are further results. Every function
here rounds once to the type it returns, in the direction its name states, with these exceptions:

* transcendental functions are those of NumPy and the standard library: good to the last bits, like libdevice's, but not
  bit for bit the same;
* the `fast_` functions are computed as accurately as the others, where the GPU trades accuracy for speed (its fast sine
  of a number beyond 1e9 is 0).

`missing()` lists what is not here (the Bessel functions).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from gpukit.machine.arithmetic import rounding
from gpukit.machine.arithmetic.casts import float_to_int
from gpukit.machine.arithmetic.elementwise import vector
from gpukit.machine.frontends.python import types
from gpukit.machine.frontends.python.functions import bits
from gpukit.machine.frontends.python.functions import math as pymath
from gpukit.machine.frontends.python.functions.base import Function, elementwise, rule, rules
from gpukit.machine.frontends.python.types import Rule

_MISSING = ["j0", "j0f", "j1", "j1f", "jn", "jnf", "y0", "y0f", "y1", "y1f", "yn", "ynf"]
_INT32, _INT64, _UINT32, _UINT64 = types.INT32, types.INT64, types.UINT32, types.UINT64
_FLOAT32, _FLOAT64 = types.FLOAT32, types.FLOAT64


def missing() -> list[str]:
    """Names of libdevice functions that this machine does not have."""
    return [f"cuda.libdevice.{name}" for name in _MISSING]


# --- functions without a NumPy counterpart ---------------------------------------------------------------------------


def _in_double(function: Callable) -> Callable:
    """A function of one float, computed in float64 and rounded to the type of its argument."""
    return lambda x: function(x.astype(np.float64)).astype(x.dtype)


def _sinpi(x):
    """sin(pi * x), exact at multiples of a half."""
    r = x - 2 * np.rint(x * 0.5)
    r = np.where(np.abs(r) > 0.5, np.copysign(1.0, r) - r, r)[()]
    return np.where(r == 0, np.copysign(0.0, x), np.sin(math.pi * r))[()]


def _cospi(x):
    """cos(pi * x), exact at multiples of a half."""
    r = np.abs(x - 2 * np.rint(x * 0.5))
    outer = np.where(r <= 0.25, np.cos(math.pi * r), -np.cos(math.pi * (1 - r)))
    return np.where((r > 0.25) & (r < 0.75), np.sin(math.pi * (0.5 - r)), outer)[()]


def _erfinv(p: float) -> float:
    """The x with erf(x) = p: a first value from the normal quantile, then Newton's method."""
    if not -1 < p < 1:
        return math.copysign(math.inf, p) if abs(p) == 1 else math.nan
    if abs(p) < 1e-9:
        return p * (math.sqrt(math.pi) / 2)
    x = NormalDist().inv_cdf((1 + p) / 2) / math.sqrt(2) if abs(p) < 0.9 else math.copysign(_erfcinv(1 - abs(p)), p)
    for _ in range(2):
        x -= (math.erf(x) - p) * (math.sqrt(math.pi) / 2) * math.exp(x * x)
    return x


def _erfcinv(q: float) -> float:
    """The x with erfc(x) = q."""
    if not 0 < q < 2:
        return math.copysign(math.inf, 1 - q) if q in (0, 2) else math.nan
    if 0.5 <= q <= 1.5:
        return _erfinv(1 - q)
    if q > 1.5:
        return -_erfcinv(2 - q)
    return -_normcdfinv(q / 2) / math.sqrt(2)


def _normcdfinv(p: float) -> float:
    """The quantile of the standard normal distribution."""
    if 0 < p < 1:
        return NormalDist().inv_cdf(p)
    return math.copysign(math.inf, p - 0.5) if p in (0, 1) else math.nan


def _normcdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _erfcx(x: float) -> float:
    """exp(x * x) * erfc(x), by its asymptotic series where the factors under- and overflow."""
    if x < 25:
        try:
            # x * x in two parts, for its rounding error is magnified by exp
            high = math.floor(x * 4096) / 4096
            return math.exp(high * high) * math.exp((x - high) * (x + high)) * math.erfc(x)
        except OverflowError:
            return math.inf
    t = 1 / (2 * x * x)
    return (1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t)))) / (x * math.sqrt(math.pi))


def _round_half_away(x):
    whole = np.trunc(x)
    up = np.abs(x - whole) >= 0.5
    return np.where(up, whole + np.copysign(x.dtype.type(1), x), whole)[()]


def _logb(x):
    exponent = np.frexp(x)[1] - 1
    finite = np.where(x == 0, -np.inf, exponent).astype(x.dtype)
    return np.where(np.isfinite(x), finite, np.abs(x))[()]


def _ilogb(x):
    exponent = np.frexp(x)[1] - 1
    info = np.iinfo(np.int32)
    special = np.where(np.isinf(x), info.max, info.min)
    return np.where(np.isfinite(x) & (x != 0), exponent, special).astype(np.int32)[()]


def _fdim(x, y):
    return np.where(x <= y, x.dtype.type(0), x - y)[()]


def _saturate(x):
    zero, one = x.dtype.type(0), x.dtype.type(1)
    return np.where(x > zero, np.fmin(x, one), zero)[()]


def _exp10(x):
    return np.power(x.dtype.type(10), x)


def _rsqrt(x):
    return x.dtype.type(1) / np.sqrt(x)


def _rcbrt(x):
    return x.dtype.type(1) / np.cbrt(x)


def _sincos(x):
    return np.sin(x), np.cos(x)


@vector
def _sincospi(x):
    wide = x.astype(np.float64)
    return _sinpi(wide).astype(x.dtype), _cospi(wide).astype(x.dtype)


def _fast_power(x, y):
    """pow as the GPU's fast version computes it: by the logarithm, so NaN for every negative base."""
    return np.exp2(y * np.log2(x))


def _half_bits(x):
    """The bits of x as float16, in an int16; every NaN becomes the GPU's."""
    return np.where(np.isnan(x), np.int16(0x7FFF), x.astype(np.float16).view(np.int16))[()]


def _as_int32(test: Callable) -> Callable:
    return lambda x: test(x).astype(np.int32)


def _view(dtype: np.dtype) -> Callable:
    return lambda x: x.view(dtype)


def _on_unsigned(function: Callable) -> Callable:
    """A function of unsigned integers for arguments and a result that are signed of the same width."""
    return lambda *args: function(*(bits.unsigned(x) for x in args)).view(args[0].dtype)


def _average(wide: type, view: type, bump: int) -> Callable:
    def function(x, y):
        total = x.view(view).astype(wide) + y.view(view).astype(wide) + wide(bump)
        return (total >> wide(1)).astype(np.int32)

    return function


def _sum_of_differences(view: type) -> Callable:
    def function(x, y, z):
        return (np.abs(x.view(view).astype(np.int64) - y.view(view).astype(np.int64)) + z).astype(np.int32)

    return function


# --- the table -------------------------------------------------------------------------------------------------------


def _floats() -> dict[str, list[Rule]]:
    """Functions that exist for double (name) and float (name + f)."""
    unary: dict[str, Callable] = {
        "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
        "atanh": np.arctanh, "cbrt": pymath.cbrt, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh,
        "cospi": _in_double(_cospi), "erf": pymath.erf, "erfc": pymath.erfc,
        "erfcinv": elementwise(_erfcinv), "erfcx": elementwise(_erfcx),
        "erfinv": elementwise(_erfinv), "exp": np.exp, "exp10": _exp10, "exp2": np.exp2, "expm1": np.expm1,
        "fabs": np.abs, "floor": np.floor, "lgamma": pymath.lgamma_of, "log": np.log, "log10": np.log10,
        "log1p": np.log1p, "log2": np.log2, "logb": _logb, "nearbyint": np.rint, "normcdf": elementwise(_normcdf),
        "normcdfinv": elementwise(_normcdfinv), "rcbrt": _rcbrt, "rint": np.rint, "round": _round_half_away,
        "rsqrt": _in_double(_rsqrt), "sin": np.sin, "sinh": np.sinh, "sinpi": _in_double(_sinpi), "sqrt": np.sqrt,
        "tan": np.tan, "tanh": np.tanh, "tgamma": pymath.gamma_of, "trunc": np.trunc,
    }  # fmt: skip
    binary: dict[str, Callable] = {
        "atan2": np.arctan2, "copysign": np.copysign, "fdim": _fdim, "fmax": np.fmax, "fmin": np.fmin, "fmod": np.fmod,
        "hypot": np.hypot, "nextafter": np.nextafter, "pow": np.power, "remainder": pymath.remainder,
    }  # fmt: skip
    with_integer: dict[str, Callable] = {"ldexp": np.ldexp, "scalbn": np.ldexp, "powi": pymath.power_of_integer}
    tests: dict[str, Callable] = {"signbit": np.signbit, "isinf": np.isinf, "isnan": np.isnan}
    table: dict[str, list[Rule]] = {}
    for suffix, c in (("", "d"), ("f", "f")):
        for name, code in unary.items():
            table[name + suffix] = [rule(f"{c}>{c}", code, "float")]
        for name, code in binary.items():
            table[name + suffix] = [rule(f"{c}{c}>{c}", code, "float")]
        for name, code in with_integer.items():
            table[name + suffix] = [rule(f"{c}i>{c}", code, "float")]
        table["frexp" + suffix] = [rule(f"{c}>{c}i", np.frexp)]
        table["modf" + suffix] = [rule(f"{c}>{c}{c}", np.modf)]
        table["remquo" + suffix] = [rule(f"{c}{c}>{c}i", pymath.remainder_and_quotient, "float")]
        table["sincos" + suffix] = [rule(f"{c}>{c}{c}", _sincos)]
        table["sincospi" + suffix] = [rule(f"{c}>{c}{c}", _sincospi)]
        table["ilogb" + suffix] = [rule(f"{c}>i", _ilogb)]
        table["llrint" + suffix] = [rule(f"{c}>l", float_to_int(np.dtype(c), _INT64, np.rint))]
        table["llround" + suffix] = [rule(f"{c}>l", float_to_int(np.dtype(c), _INT64, _round_half_away))]
        for name, test in tests.items():
            table[name + (suffix or "d")] = [rule(f"{c}>i", _as_int32(test))]
    table["isfinited"], table["finitef"] = ([rule(f"{c}>i", _as_int32(np.isfinite))] for c in "df")
    fast: dict[str, Callable] = {
        "cosf": np.cos, "exp10f": _exp10, "expf": np.exp, "log10f": np.log10, "log2f": np.log2, "logf": np.log,
        "sinf": np.sin, "tanf": np.tan,
    }  # fmt: skip
    table |= {f"fast_{name}": [rule("f>f", code, "float")] for name, code in fast.items()}
    table["fast_fdividef"], table["fast_powf"] = (
        [rule("ff>f", np.divide, "float")],
        [rule("ff>f", _fast_power, "float")],
    )
    table["fast_sincosf"] = [rule("f>ff", _sincos)]
    table["saturatef"] = [rule("f>f", _saturate)]
    return table


# libdevice's words for a type, the letter of the type it travels in, and the type it means
_WORDS = [("double", "d", _FLOAT64), ("float", "f", _FLOAT32)]
_INTEGER_WORDS = [("int", "i", _INT32), ("uint", "i", _UINT32), ("ll", "l", _INT64), ("ull", "l", _UINT64)]


def _rounded() -> dict[str, list[Rule]]:
    """Arithmetic and conversions with a stated rounding."""
    table: dict[str, list[Rule]] = {}
    for mode in rounding.MODES:
        for word, c, dtype in _WORDS:
            for name, make in {"add": rounding.add, "mul": rounding.multiply, "div": rounding.divide}.items():
                table[f"{c}{name}_{mode}"] = [rule(f"{c}{c}>{c}", make(dtype, mode), "float")]
            for name, make in {"rcp": rounding.reciprocal, "sqrt": rounding.square_root}.items():
                table[f"{c}{name}_{mode}"] = [rule(f"{c}>{c}", make(dtype, mode), "float")]
            fma = "fma" if c == "d" else "fmaf"
            table[f"{fma}_{mode}"] = [rule(f"{c * 3}>{c}", rounding.fma(dtype, mode), "float")]
            for whole, letter, meant in _INTEGER_WORDS:
                to_whole = _as_signed(rounding.convert(dtype, meant, mode))
                from_whole = _taken_as(meant, rounding.convert(meant, dtype, mode))
                table[f"{word}2{whole}_{mode}"] = [rule(f"{c}>{letter}", to_whole)]
                table[f"{whole}2{word}_{mode}"] = [rule(f"{letter}>{c}", from_whole)]
        table[f"fsub_{mode}"] = [rule("ff>f", rounding.subtract(_FLOAT32, mode), "float")]
        table[f"double2float_{mode}"] = [rule("d>f", rounding.convert(_FLOAT64, _FLOAT32, mode))]
    table["fma"], table["fmaf"] = table["fma_rn"], table["fmaf_rn"]
    # 32-bit integers are exact in float64, so those conversions exist only once
    for name in ("int2double", "uint2double"):
        for mode in ("rz", "ru", "rd"):
            del table[f"{name}_{mode}"]
    table["frsqrt_rn"] = [rule("f>f", _in_double(_rsqrt), "float")]
    return table


def _as_signed(convert: Callable) -> Callable:
    def function(x):
        result = convert(x)
        return result.view(f"i{result.dtype.itemsize}")

    return function


def _taken_as(dtype: np.dtype, convert: Callable) -> Callable:
    return lambda x: convert(x.view(dtype))


def _integers() -> dict[str, list[Rule]]:
    def of(form: str, code: Callable) -> list[Rule]:
        return [rule(form, code)]

    narrow = {"popc": bits.population_count, "clz": bits.leading_zeros, "ffs": bits.find_first_set}
    table = {name: of("i>i", lambda x, f=f: f(x).astype(np.int32)) for name, f in narrow.items()}
    table |= {f"{name}ll": of("l>i", lambda x, f=f: f(x).astype(np.int32)) for name, f in narrow.items()}
    table |= {"brev": of("i>i", bits.reverse), "brevll": of("l>l", bits.reverse)}
    table |= {"abs": of("i>i", np.abs), "llabs": of("l>l", np.abs)}
    for name, ufunc in {"max": np.maximum, "min": np.minimum}.items():
        table |= {name: of("ii>i", ufunc), f"ll{name}": of("ll>l", ufunc)}
        table |= {f"u{name}": of("ii>i", _on_unsigned(ufunc)), f"ull{name}": of("ll>l", _on_unsigned(ufunc))}
    table |= {
        "byte_perm": of("iii>i", bits.byte_permute),
        "sad": of("iii>i", _sum_of_differences(np.int32)),
        "usad": of("iii>i", _sum_of_differences(np.uint32)),
        "hadd": of("ii>i", _average(np.int64, np.int32, 0)),
        "rhadd": of("ii>i", _average(np.int64, np.int32, 1)),
        "uhadd": of("ii>i", _average(np.int64, np.uint32, 0)),
        "urhadd": of("ii>i", _average(np.int64, np.uint32, 1)),
        "mulhi": of("ii>i", lambda x, y: bits.multiply_high_32(x, y, np.int32)),
        "umulhi": of("ii>i", lambda x, y: bits.multiply_high_32(x, y, np.uint32)),
        "mul64hi": of("ll>l", bits.multiply_high_s64),
        "umul64hi": of("ll>l", _on_unsigned(bits.multiply_high_u64)),
        "mul24": of("ii>i", _product_of_24_bits(np.int32)),
        "umul24": of("ii>i", _product_of_24_bits(np.uint32)),
        "double2hiint": of("d>i", bits.high_word),
        "double2loint": of("d>i", bits.low_word),
        "hiloint2double": of("ii>d", bits.from_words),
        "double_as_longlong": of("d>l", _view(_INT64)),
        "longlong_as_double": of("l>d", _view(_FLOAT64)),
        "float_as_int": of("f>i", _view(_INT32)),
        "int_as_float": of("i>f", _view(_FLOAT32)),
        "float2half_rn": of("f>h", _half_bits),
        "half2float": of("h>f", lambda x: x.view(np.float16).astype(np.float32)),
    }
    return table


def _product_of_24_bits(view: type) -> Callable:
    return lambda x, y: (bits.low_24_bits(x, view) * bits.low_24_bits(y, view)).astype(np.int32)


FUNCTIONS: list[Function] = [
    rules(f"cuda.libdevice.{name}", choices) for name, choices in (_floats() | _rounded() | _integers()).items()
]
