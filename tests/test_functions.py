"""Functions that kernels call: result types against numba-cuda, values against exact arithmetic and the math module."""

from __future__ import annotations

import cmath
import itertools
import math
import operator
import random
import struct
import warnings
from fractions import Fraction

import numpy as np
import pytest

from gpukit.machine.arithmetic import rounding
from gpukit.machine.frontends.python import arithmetic, functions, types
from gpukit.machine.frontends.python.functions import random as xoroshiro
from gpukit.machine.frontends.python.functions.base import Function
from gpukit.machine.frontends.python.types import Rule

EDGE_FLOATS = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1.5,
    2.5,
    -3.25,
    1e-7,
    1e30,
    -1e30,
    math.inf,
    -math.inf,
    math.nan,
    65504.0,
]


def edge_values(dtype: np.dtype) -> np.ndarray:
    """Sixteen values of a type with its extremes among them."""
    if dtype.kind == "b":
        return np.arange(16) % 3 == 0
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        picked = [0, 1, 2, 3, 7, 8, 31, 33, 64, 100, 127, info.max, info.max - 1, info.min, info.min + 1, info.max // 2]
        return np.array(picked, dtype)
    with np.errstate(over="ignore"):
        reals = np.array(EDGE_FLOATS).astype(np.empty(0, dtype).real.dtype)
    if dtype.kind == "f":
        return reals
    values = np.empty(16, dtype)
    values.real, values.imag = reals, np.roll(reals, 5)
    return values


def run(rule: Rule, *args):
    """What a rule gives for operands that have its operand types."""
    code = rule.code
    with np.errstate(all="ignore"):
        if isinstance(code, str):
            names = [f"x{i}" for i in range(len(args))]
            return eval(code.format(*names), dict(zip(names, args, strict=True)))
        return code(*args)


def call(name: str, *args, constants=None):
    """The value of a function for NumPy scalars or arrays, through its rule and casts."""
    rule = functions.lookup(name).resolve(tuple(a.dtype for a in args), constants)
    with np.errstate(all="ignore"):
        return run(rule, *(cast_to(a, dtype) for a, dtype in zip(args, rule.operands, strict=True)))


def cast_to(value, dtype):
    how = types.cast(value.dtype, dtype)
    if how is None:
        return value
    return eval(how.format("x"), {"x": value}) if isinstance(how, str) else how(value)


def rules_of(function: Function) -> list[Rule]:
    """Every rule that a function gives for one, two or three arguments of any types (of one type, if three)."""
    found = {}
    for count in (1, 2, 3):
        kinds = (
            itertools.product(types.TYPES, repeat=count)
            if count < 3
            else ((first, t, t) for first in (types.BOOL, *types.TYPES) for t in types.TYPES)
        )
        for args in kinds:
            rule = function.resolve(args, (None,) * count)
            if rule is not None:
                found[rule.operands, rule.results] = rule
    return list(found.values())


def assert_promised(rule: Rule, args, shape: tuple[int, ...], name: str) -> None:
    out = run(rule, *args)
    values = out if len(rule.results) > 1 else (out,)
    assert isinstance(values, tuple) and len(values) == len(rule.results), name
    for value, dtype in zip(values, rule.results, strict=True):
        assert value.dtype == dtype, (name, rule.operands, [getattr(a, "shape", None) for a in args])
        assert value.shape == shape, (name, rule.operands)
        assert isinstance(value, np.ndarray if shape else np.generic), (name, rule.operands)


@pytest.mark.parametrize("theme", ["math", "cmath", "builtins", "operator", "cuda", "numpy", "numba"])
def test_every_rule_gives_exactly_its_dtype_and_shape(theme):
    """Scalars stay scalars, arrays stay arrays, mixed arguments give arrays, and nothing raises or warns."""
    seen = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in functions.names():
            if name.split(".")[0] != theme:
                continue
            found = rules_of(functions.lookup(name))
            assert found, f"{name} takes nothing"
            for rule in found:
                seen += 1
                arrays = [np.roll(edge_values(t), 3 * i) for i, t in enumerate(rule.operands)]
                assert_promised(rule, arrays, (16,), name)
                assert_promised(rule, [a[3] for a in arrays], (), name)
                if len(arrays) > 1:
                    for i in range(len(arrays)):
                        mixed = [a[5] if i == j else a for j, a in enumerate(arrays)]
                        assert_promised(rule, mixed, (16,), name)
    assert seen >= 5


def test_arrays_agree_with_scalars():
    """A uniform value and a vector go through different code paths; the results are the same bits."""
    for name in functions.names():
        for rule in rules_of(functions.lookup(name))[:6]:
            arrays = [np.roll(edge_values(t), 2 * i) for i, t in enumerate(rule.operands)]
            whole = run(rule, *arrays)
            whole = whole if isinstance(whole, tuple) else (whole,)
            for i in range(0, 16, 3):
                one = run(rule, *(a[i] for a in arrays))
                one = one if isinstance(one, tuple) else (one,)
                for many, single in zip(whole, one, strict=True):
                    # vectorised transcendental functions may differ from the scalar ones in the last bit
                    np.testing.assert_allclose(
                        many[i],
                        single,
                        rtol=4 * np.finfo(single.dtype).eps if single.dtype.kind in "fc" else 0,
                        err_msg=f"{name} {rule.operands}",
                    )


# --- result types against numba-cuda ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def resolve():
    """resolve(function, dtypes) -> the result dtypes numba-cuda gives a call, or None where it refuses."""
    pytest.importorskip("numba.cuda", reason="compares with numba-cuda's typing")
    from numba.core.errors import NumbaError
    from numba.cuda import types as numba_types
    from numba.cuda.descriptor import cuda_target

    context = cuda_target.typing_context
    context.refresh()
    of_dtype = {t: numba_types.boolean if t == types.BOOL else getattr(numba_types, t.name) for t in types.TYPES}
    to_dtype = {numba_type: dtype for dtype, numba_type in of_dtype.items()}

    def call(function, dtypes):
        try:
            found = context.resolve_function_type(function, tuple(of_dtype[t] for t in dtypes), {})
        except (NumbaError, NotImplementedError):  # the latter: typed, but cannot be compiled
            return None
        if found is None:
            return None
        result = found.return_type
        return tuple(to_dtype[t] for t in (result.types if hasattr(result, "types") else [result]))

    return call


def assert_typed_as_numba(resolve, name: str, function, counts=(1, 2)) -> int:
    """Compares every combination of argument types; the number of signatures numba has."""
    known = 0
    for count in counts:
        for args in itertools.product(types.TYPES, repeat=count):
            if function in (min, max) and any(t.kind == "c" for t in args):
                continue  # numba types these, and then cannot compile them
            expected = resolve(function, args)
            rule = functions.lookup(name).resolve(args, (None,) * count)
            if expected is not None:
                known += 1
                assert rule is not None and rule.results == expected, (name, args, expected, rule)
    return known


@pytest.mark.parametrize("module", [math, cmath], ids=lambda m: m.__name__)
def test_math_and_cmath_are_typed_as_in_numba_cuda(resolve, module):
    checked = 0
    for short, function in vars(module).items():
        name = f"{module.__name__}.{short}"
        if (callable(function) and resolve(function, (types.COMPLEX128,))) or functions.lookup(name):
            checked += assert_typed_as_numba(resolve, name, function) > 0
    assert checked >= {"math": 40, "cmath": 14}[module.__name__]


def test_no_function_of_math_that_numba_has_is_left_out(resolve):
    for short, function in vars(math).items():
        if callable(function) and not short.startswith("_"):
            taken = resolve(function, (types.FLOAT64,)) or resolve(function, (types.FLOAT64, types.FLOAT64))
            assert not taken or functions.lookup(f"math.{short}"), short


def test_cuda_and_fp16_functions_are_typed_as_in_numba_cuda(resolve):
    from numba import cuda

    for short in ("popc", "clz", "ffs", "brev", "cbrt"):
        assert assert_typed_as_numba(resolve, f"cuda.{short}", getattr(cuda, short), (1,)), short
    for t in types.TYPES:
        rule = functions.lookup("cuda.fma").resolve((t, t, t))
        assert (rule and rule.results) == resolve(cuda.fma, (t, t, t))
        rule = functions.lookup("cuda.selp").resolve((types.BOOL, t, t))
        assert (rule and rule.results) == resolve(cuda.selp, (types.BOOL, t, t)), t
    names = [name for name in functions.names() if name.startswith("cuda.fp16.")]
    assert len(names) > 100
    for name in names:
        function = getattr(cuda.fp16, name.rsplit(".", 1)[1])
        for rule in {r.operands: r for r in rules_of(functions.lookup(name))}.values():
            assert resolve(function, rule.operands) == rule.results, name
    simple = {n for n in cuda.fp16.__all__ if n[0] == "h" and not n.startswith("half")}
    assert simple and all(functions.lookup(f"cuda.fp16.{n}") for n in simple)


def test_ufuncs_are_typed_as_in_numba_cuda(resolve):
    checked = 0
    for name in functions.names():
        module, short = name.split(".", 1)
        ufunc = getattr(np, short, None) if module == "numpy" else None
        if isinstance(ufunc, np.ufunc):
            checked += assert_typed_as_numba(resolve, name, ufunc, (ufunc.nin,))
    assert checked > 3000
    for short, ufunc in vars(np).items():
        if isinstance(ufunc, np.ufunc) and resolve(ufunc, (types.FLOAT64,) * ufunc.nin):
            assert functions.lookup(f"numpy.{short}"), short


def test_builtins_are_typed_as_in_numba_cuda(resolve):
    builtin = {"abs": (abs, (1,)), "min": (min, (2,)), "max": (max, (2,)), "round": (round, (1,)), "pow": (pow, (2,)),
               "divmod": (divmod, (2,)), "bool": (bool, (1,)), "int": (int, (1,)), "float": (float, (1,)),
               "complex": (complex, (1,))}  # fmt: skip
    for short, (function, counts) in builtin.items():
        assert assert_typed_as_numba(resolve, f"builtins.{short}", function, counts), short


def test_libdevice_is_complete_and_has_the_published_types(resolve):
    from numba.cuda import libdevice, libdevicefuncs

    missing = set(functions.missing_libdevice())
    for nv_name, (result, args) in libdevicefuncs.functions.items():
        short = nv_name.removeprefix("__nv_")
        name = f"cuda.libdevice.{short}"
        function = functions.lookup(name)
        assert (function is None) == (name in missing), name
        if function is None:
            continue
        operands = tuple(types.from_name(str(a.ty)) for a in args if not a.is_ptr)
        rule = function.resolve(operands)
        assert rule.operands == operands, name
        outs = [types.from_name(str(a.ty)) for a in args if a.is_ptr]
        returned = [] if str(result) == "none" else [types.from_name(str(result))]
        assert list(rule.results) == returned + outs, name
        assert resolve(getattr(libdevice, short), operands) == rule.results, name
    assert len(missing) == 12


# --- values: math ----------------------------------------------------------------------------------------------------


def expected_of(function, *args) -> float:
    """The function of the math module, with a GPU's answer where Python raises."""
    try:
        return function(*args)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unary_math_agrees_with_the_math_module(dtype):
    values = np.array([0.0, 0.1, 0.5, 0.9, 1.0, 1.7, 2.5, 10.0, 80.0, -0.3, -1.0, -7.5, math.nan], dtype)
    exceptions = {("log", 0.0), ("log2", 0.0), ("log10", 0.0), ("log1p", -1.0), ("atanh", 1.0), ("atanh", -1.0),
                  ("gamma", 0.0), ("gamma", -1.0), ("lgamma", 0.0), ("lgamma", -1.0)}  # fmt: skip
    for name in [n for n in functions.names() if n.startswith("math.")]:
        function = getattr(math, name.removeprefix("math."))
        rule = functions.lookup(name).resolve((np.dtype(dtype),))
        if rule is None or len(rule.results) > 1:
            continue
        for x, found in zip(values, run(rule, values), strict=True):
            if (name.removeprefix("math."), float(x)) in exceptions:
                continue
            try:
                expected = expected_of(function, float(x))
            except TypeError:
                break
            tolerance = 8 * np.finfo(dtype).eps
            with np.errstate(over="ignore"):
                expected = dtype(expected)
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance / 8, err_msg=f"{name}({x})")


def test_poles_and_ranges_give_infinity_or_nan_instead_of_an_exception():
    for dtype in (np.float32, np.float64):
        x = np.array([0.0, -0.0, -1.0, -2.0, 200.0, math.inf, -math.inf, math.nan], dtype)
        np.testing.assert_array_equal(
            call("math.gamma", x), [math.inf, -math.inf, math.nan, math.nan, math.inf, math.inf, math.nan, math.nan]
        )
        found = call("math.lgamma", np.append(x, dtype(-1.5)))
        np.testing.assert_array_equal(found[[0, 1, 2, 3, 5, 6]], math.inf)
        np.testing.assert_allclose(found[-1], math.lgamma(-1.5), rtol=1e-6)
        np.testing.assert_array_equal(call("math.log", x[:3]), [-math.inf, -math.inf, math.nan])
        assert np.isnan(call("math.sqrt", dtype(-1))) and call("math.sqrt", dtype(-0.0)) == 0
    assert call("math.gamma", np.float64(171.5)) == math.gamma(171.5)
    assert math.isinf(call("math.gamma", np.float32(40)))  # fits float64, not float32


def test_integer_arguments_are_computed_in_float64():
    found = call("math.sqrt", np.array([2, 9], np.int32))
    assert found.dtype == np.float64 and found.tolist() == [math.sqrt(2), 3.0]
    assert call("math.hypot", np.int64(3), np.int64(4)) == 5.0
    assert call("math.isfinite", np.array([1, 2])).tolist() == [True, True]
    assert call("math.isnan", np.int32(1)).dtype == np.bool_
    assert call("math.floor", np.float64(-1.5)).dtype == np.float64  # a float on CUDA, unlike in Python


def test_functions_with_two_results():
    mantissa, exponent = call("math.frexp", np.array([8.0, 0.0, -0.3]))
    assert exponent.dtype == np.int32
    assert list(zip(mantissa, exponent, strict=True)) == [math.frexp(v) for v in (8.0, 0.0, -0.3)]
    fraction, whole = call("math.modf", np.array([2.5, -2.5, math.inf]))
    assert fraction.tolist() == [0.5, -0.5, 0.0] and whole.tolist() == [2.0, -2.0, math.inf]
    assert call("math.ldexp", np.float32(1.5), np.int64(4)) == 24.0
    assert call("math.pow", np.float32(-0.5), np.int32(-1615259323)) == -math.inf  # odd, which float32 cannot tell
    assert np.isnan(call("cuda.libdevice.fast_powf", np.float32(-2), np.float32(2)))
    r, phi = call("cmath.polar", np.complex128(3 + 4j))
    assert (r, phi) == cmath.polar(3 + 4j)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainder_is_exact(dtype):
    draw = random.Random(3)
    x = np.array(
        [draw.uniform(-100, 100) * 10.0 ** draw.randint(-30, 30) for _ in range(400)] + [5, 7, -5, 2.5, 3.5], dtype
    )
    y = np.array([draw.uniform(-9, 9) * 10.0 ** draw.randint(-30, 30) for _ in range(400)] + [2, 2, 2, 1, 1], dtype)
    found, quotient = call("cuda.libdevice.remquo" + "f" * (dtype == np.float32), x, y)
    for p, q, rest, low in zip(x.tolist(), y.tolist(), found.tolist(), quotient.tolist(), strict=True):
        assert rest == math.remainder(p, q)
        exact = (Fraction(p) - Fraction(rest)) / Fraction(q)
        assert exact.denominator == 1 and abs(low) == abs(exact.numerator) % 8 and low * exact >= 0
    assert call("math.remainder", x, y).tolist() == found.tolist()
    special = call("math.remainder", np.array([math.inf, 1, 1, math.nan], dtype), np.array([1, 0, math.inf, 1], dtype))
    np.testing.assert_array_equal(special, [math.nan, math.nan, 1, math.nan])
    top = np.finfo(dtype).max
    for p, q in [(top, dtype(0.75) * top), (dtype(0.75) * top, top), (dtype(-0.5) * top, top), (top, dtype(0.2) * top)]:
        assert call("math.remainder", p, q) == math.remainder(float(p), float(q))


def test_min_and_max():
    nan = np.float64("nan")
    assert call("builtins.max", nan, np.float64(1)) == 1 and call("builtins.min", np.float64(1), nan) == 1
    three = call("builtins.max", np.float64(1.5), nan, np.float64(2.5))
    assert three == max(1.5, math.nan, 2.5) == 2.5
    assert np.isnan(call("builtins.min", nan, np.float64(1), np.float64(2)))  # as min(nan, 1, 2) in Python
    found = call("builtins.min", np.array([1, 5], np.int32), np.int64(3))
    assert found.dtype == np.int64 and found.tolist() == [1, 3]
    assert call("builtins.max", np.int64(3), np.float32(2.5)).dtype == np.float64


def test_round_halves_to_even():
    assert call("builtins.round", np.array([0.5, 1.5, -2.5, 2.6])).tolist() == [0, 2, -2, 3]
    assert call("builtins.round", np.float32(2.5)).dtype == np.int64
    found = call("builtins.round", np.array([2.675, -1234.5678, 1e300, math.inf]), np.int64(2))
    np.testing.assert_allclose(found, [2.68, -1234.57, 1e300, math.inf], rtol=1e-15)
    assert call("builtins.round", np.float64(1250), np.int64(-2)) == 1200
    assert call("builtins.round", np.float32(0.125), np.int64(2)).dtype == np.float32


def test_number_constructors():
    assert call("builtins.int", np.float32(-2.7)) == -2 and call("builtins.int", np.int8(5)).dtype == np.int8
    assert call("builtins.float", np.float32(1.5)).dtype == np.float32
    assert call("builtins.float", np.int32(7)).dtype == np.float64
    assert call("builtins.complex", np.float32(1), np.float32(2)) == np.complex64(1 + 2j)
    assert functions.lookup("builtins.float").resolve((types.COMPLEX64,)) is None
    assert call("numpy.int8", np.int64(300)) == 44 and call("numba.uint8", np.float64(-1)) == 0
    assert call("numpy.byte", np.int64(200)).dtype == np.int8 and functions.lookup("numba.float32")
    assert functions.lookup("numpy.float32").resolve((types.COMPLEX64,)) is None


def test_operators_delegate_to_the_operator_table():
    assert functions.lookup("operator.iadd").resolve((types.INT32, types.INT32)) == types.binary(
        "+", types.INT32, types.INT32
    )
    assert functions.lookup("operator.iand").resolve((types.BOOL, types.BOOL)).result == types.BOOL
    assert functions.lookup("operator.not_").resolve((types.FLOAT32,)).result == types.BOOL
    constant = functions.lookup("operator.pow").resolve((types.FLOAT32, types.INT64), (None, 2))
    assert constant.code == types.power(types.FLOAT32, types.INT64, 2).code
    for name in dir(operator):
        if (
            name.startswith("i")
            and hasattr(operator, f"__{name}__")
            and name not in ("index", "inv", "invert", "is_", "is_not")
        ):
            assert functions.lookup(f"operator.{name}") or name in ("iconcat", "imatmul"), name


def test_cmath_agrees_with_the_cmath_module():
    points = [0.3 + 0.4j, -1.2 + 0.7j, 2 - 3j, -0.5 - 0.1j, 1 + 0j]
    for name in [n for n in functions.names() if n.startswith("cmath.")]:
        rule = functions.lookup(name).resolve((types.COMPLEX128,))
        if rule is None or len(rule.results) > 1:
            continue
        function = getattr(cmath, name.removeprefix("cmath."))
        for z in points:
            if z == 1 and name == "cmath.atanh":
                continue
            np.testing.assert_allclose(
                run(rule, np.complex128(z)), function(z), rtol=1e-13, atol=1e-15, err_msg=f"{name}({z})"
            )
    np.testing.assert_allclose(call("cmath.log", np.complex128(2j), np.complex128(10)), cmath.log(2j, 10), rtol=1e-14)
    for r, phi in [(2.0, 0.5), (0.0, math.inf), (math.inf, 0.0), (math.inf, math.nan), (-1.5, 3.0)]:
        found, expected = call("cmath.rect", np.float64(r), np.float64(phi)), cmath.rect(r, phi)
        np.testing.assert_allclose([found.real, found.imag], [expected.real, expected.imag], rtol=1e-15)
    assert functions.lookup("cmath.rect").resolve((types.FLOAT32, types.FLOAT32)).result == types.COMPLEX64


def test_complex_power():
    rule = types.binary("**", types.COMPLEX128, types.COMPLEX128)
    for a, b in [(1 + 2j, 3 - 1j), (-2j, 0.5), (3, 2), (0, 2), (5 + 1j, 0)]:
        np.testing.assert_allclose(run(rule, np.complex128(a), np.complex128(b)), complex(a) ** complex(b), rtol=1e-13)


# --- values: bits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", types.SIGNED + types.UNSIGNED, ids=str)
def test_bit_counts_are_those_of_the_width(dtype):
    values, width = edge_values(dtype), 8 * dtype.itemsize
    texts = [format(int(v) & ((1 << width) - 1), f"0{width}b") for v in values]
    assert call("cuda.popc", values).tolist() == [t.count("1") for t in texts]
    assert call("cuda.clz", values).tolist() == [len(t) - len(t.lstrip("0")) for t in texts]
    first_set = [len(t) - t.rfind("1") if "1" in t else 0 for t in texts]
    found = call("cuda.ffs", values)
    assert found.dtype == np.uint32 and found.tolist() == first_set
    if dtype in (types.UINT32, types.UINT64):
        assert call("cuda.brev", values).tolist() == [int(t[::-1], 2) for t in texts]
        assert int(call("cuda.brev", values[4])) == int(texts[4][::-1], 2)


def test_integer_functions_of_libdevice():
    def of(name, *args):
        return int(call(f"cuda.libdevice.{name}", *(np.int32(a) if abs(a) < 1 << 31 else np.int64(a) for a in args)))

    def of64(name, *args):
        return int(call(f"cuda.libdevice.{name}", *(np.int64(a) for a in args)))

    draw = random.Random(5)
    low, high = -(1 << 31), (1 << 31) - 1
    for x, y in [(low, low), (low, high), (high, high), (-1, 1), (-1, -1)] + [
        (draw.randint(low, high), draw.randint(low, high)) for _ in range(30)
    ]:
        ux, uy = x & 0xFFFFFFFF, y & 0xFFFFFFFF
        signed = lambda v: (v & 0xFFFFFFFF) - ((v & 0x80000000) << 1)  # noqa: E731
        signed24 = lambda v: (v & 0xFFFFFF) - ((v & 0x800000) << 1)  # noqa: E731
        assert of("hadd", x, y) == (x + y) >> 1 and of("rhadd", x, y) == (x + y + 1) >> 1
        assert of("uhadd", x, y) == signed((ux + uy) >> 1) and of("urhadd", x, y) == signed((ux + uy + 1) >> 1)
        assert of("mulhi", x, y) == (x * y) >> 32 and of("umulhi", x, y) == signed((ux * uy) >> 32)
        assert of("mul24", x, y) == signed(signed24(x) * signed24(y))
        assert of("umul24", x, y) == signed((x & 0xFFFFFF) * (y & 0xFFFFFF))
        assert of("sad", x, y, 7) == signed(abs(x - y) + 7) and of("usad", x, y, 7) == signed(abs(ux - uy) + 7)
        assert of("umax", x, y) == signed(max(ux, uy)) and of("min", x, y) == min(x, y)
        p, q = x * 4294967291 + y, y * 4294967279 - x
        u64 = (1 << 64) - 1
        assert of64("mul64hi", p, q) == (p * q) >> 64
        assert of64("umul64hi", p, q) & u64 == ((p & u64) * (q & u64)) >> 64
        assert of64("ullmin", p, q) & u64 == min(p & u64, q & u64)
    assert of("byte_perm", 0x33221100, 0x77665544, 0x7051) & 0xFFFFFFFF == 0x77005511
    assert of("byte_perm", 1, -203238134, -2029118158) == 13959168  # read off an H200: selectors have three bits
    assert of("popc", -1) == 32 and of64("popcll", -1) == 64 and of64("ffsll", 1 << 40) == 41 and of("clz", 0) == 32


def test_reinterpretation_of_floats():
    (bits,) = struct.unpack("<i", struct.pack("<f", -1.5))
    assert int(call("cuda.libdevice.float_as_int", np.float32(-1.5))) == bits
    assert call("cuda.libdevice.int_as_float", np.int32(bits)) == -1.5
    high, low = (call(f"cuda.libdevice.double2{part}int", np.float64(math.pi)) for part in ("hi", "lo"))
    assert call("cuda.libdevice.hiloint2double", high, low) == math.pi
    assert int(call("cuda.libdevice.double_as_longlong", np.float64(-0.0))) == -(1 << 63)
    assert call("cuda.libdevice.float2half_rn", np.array([1.0, math.nan], np.float32)).tolist() == [0x3C00, 0x7FFF]
    assert call("cuda.libdevice.half2float", np.int16(0x3C00)) == 1.0
    assert call("cuda.fp16.__half_as_ushort", np.float16(-2)) == 0xC000


# --- values: rounding ------------------------------------------------------------------------------------------------


def neighbours(exact: Fraction, dtype: np.dtype) -> tuple[float, float]:
    """The nearest values of a float type at or below and at or above an exact number, infinities included."""
    info = np.finfo(dtype)
    largest, smallest = Fraction(float(info.max)), Fraction(float(info.smallest_subnormal))
    if abs(exact) > largest:
        pair = (float(info.max), math.inf)
        return pair if exact > 0 else (-pair[1], -pair[0])
    exponent = max(abs(exact).numerator.bit_length() - abs(exact).denominator.bit_length() - info.nmant - 2, -2000)
    quantum = max(Fraction(2) ** exponent, smallest) if exact else smallest
    while abs(exact) / quantum >= 1 << (info.nmant + 1):
        quantum *= 2
    below = math.floor(exact / quantum) * quantum
    above = below if below == exact else below + quantum
    return float(below), float(above)


def rounded(exact: Fraction, dtype: np.dtype, mode: str) -> float:
    """An exact number rounded by `mode`, by the definition of IEEE 754."""
    below, above = neighbours(exact, dtype)
    if mode == "rd" or (mode == "rz" and exact > 0):
        return below
    if mode == "ru" or mode == "rz":
        return above
    if below == above:
        return below
    info = np.finfo(dtype)
    if math.isinf(above) or math.isinf(below):
        limit = Fraction(float(info.max)) + Fraction(2) ** (info.maxexp - info.nmant - 2)
        inner, outer = (below, above) if exact > 0 else (above, below)
        return outer if abs(exact) >= limit else inner
    to_below, to_above = exact - Fraction(below), Fraction(above) - exact
    if to_below != to_above:
        return below if to_below < to_above else above
    even = int(np.array(below, dtype).view(f"i{dtype.itemsize}")) & 1 == 0
    return below if even else above


def hard_floats(dtype: np.dtype, count: int, seed: int) -> np.ndarray:
    """Floats with few and many bits, of all magnitudes: normal, subnormal, near the largest, and near each other."""
    draw, info = random.Random(seed), np.finfo(dtype)
    values = []
    for _ in range(count):
        bits = draw.choice([1, 2, 3, info.nmant // 2, info.nmant, info.nmant + 1])
        exponent = draw.choice([0, 1, -1, 2, draw.randint(info.minexp - info.nmant, info.maxexp - 1)])
        values.append(draw.choice([-1, 1]) * math.ldexp(draw.getrandbits(bits) | 1, exponent - bits + 1))
    with np.errstate(all="ignore"):
        return np.array(values).astype(dtype)


OPERATIONS = {
    "add": (rounding.add, 2, lambda x, y: x + y),
    "subtract": (rounding.subtract, 2, lambda x, y: x - y),
    "multiply": (rounding.multiply, 2, lambda x, y: x * y),
    "divide": (rounding.divide, 2, lambda x, y: x / y if y else None),
    "reciprocal": (rounding.reciprocal, 1, lambda x: 1 / x if x else None),
    "fma": (rounding.fma, 3, lambda x, y, z: x * y + z),
}


@pytest.mark.parametrize("mode", rounding.MODES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_directed_rounding_is_ieee(name, mode):
    make, arity, exact_operation = OPERATIONS[name]
    for dtype in (types.FLOAT16, types.FLOAT32, types.FLOAT64):
        args = [hard_floats(dtype, 600, seed=10 * i + 1) for i in range(arity)]
        if arity == 3:  # half of the addends nearly cancel the product
            with np.errstate(all="ignore"):
                product = -(args[0] * args[1])
                args[2][::2] = np.nextafter(product, dtype.type(0))[::2]
        finite = np.logical_and.reduce([np.isfinite(a) for a in args])
        args = [a[finite] for a in args]
        with np.errstate(all="ignore"):
            found = make(dtype, mode)(*args)
        assert found.dtype == dtype
        for i, value in enumerate(found):
            operands = [Fraction(float(a[i])) for a in args]
            exact = exact_operation(*operands)
            if exact is not None:
                assert float(value) == rounded(exact, dtype, mode), (
                    name,
                    mode,
                    dtype,
                    [float(a[i]).hex() for a in args],
                )


@pytest.mark.parametrize("mode", rounding.MODES)
def test_directed_square_roots(mode):
    for dtype in (types.FLOAT32, types.FLOAT64):
        x = np.abs(hard_floats(dtype, 500, seed=7))
        with np.errstate(all="ignore"):
            found = rounding.square_root(dtype, mode)(x)
        for value, root in zip(x.tolist(), found.tolist(), strict=True):
            if mode in ("rd", "rz"):
                above = float(np.nextafter(dtype.type(root), dtype.type(math.inf)))
                assert Fraction(root) ** 2 <= Fraction(value) < Fraction(above) ** 2
            elif mode == "ru":
                below = float(np.nextafter(dtype.type(root), dtype.type(0)))
                assert Fraction(below) ** 2 < Fraction(value) <= Fraction(root) ** 2
            else:
                assert root == np.sqrt(dtype.type(value))


@pytest.mark.parametrize("mode", rounding.MODES)
def test_directed_conversions(mode):
    wide = hard_floats(types.FLOAT64, 300, seed=4)
    for dst in (types.FLOAT16, types.FLOAT32):
        with np.errstate(all="ignore"):
            found = rounding.convert(types.FLOAT64, dst, mode)(wide)
        assert found.dtype == dst
        assert [float(v) for v in found] == [rounded(Fraction(v), dst, mode) for v in wide.tolist()]
    draw = random.Random(8)
    for src in (types.INT32, types.UINT32, types.INT64, types.UINT64):
        info = np.iinfo(src)
        whole = np.array(
            [info.min, info.max, info.max - 1] + [draw.randint(info.min, info.max) for _ in range(100)], src
        )
        for dst in types.FLOATS:
            with np.errstate(all="ignore"):
                found = rounding.convert(src, dst, mode)(whole)
            assert [float(v) for v in found] == [rounded(Fraction(v), dst, mode) for v in whole.tolist()], (src, dst)
    inward = {"rn": [2, -2, 2, 0], "rz": [1, -1, 2, 0], "ru": [2, -1, 3, 1], "rd": [1, -2, 2, 0]}[mode]
    found = call(f"cuda.libdevice.double2int_{mode}", np.array([1.5, -1.5, 2.5, 0.25]))
    assert found.dtype == np.int32 and found.tolist() == inward
    assert int(call(f"cuda.libdevice.float2uint_{mode}", np.float32(3e9))) & 0xFFFFFFFF == 3_000_000_000


def test_fma_rounds_once():
    x = 1 + 2.0**-30
    assert call("cuda.fma", np.float64(x), np.float64(x), np.float64(-(x * x))) == 2.0**-60
    tiny, top = 5e-324, np.finfo(np.float64).max
    cases = [
        (tiny, 0.5, 0.0, 0.0), (tiny, 0.5, tiny, 2 * tiny), (top, 2.0, -top, top), (top, top, -math.inf, -math.inf),
        (0.0, 5.0, -0.0, 0.0), (math.inf, 1.0, 1.0, math.inf), (1e200, 1e200, 1.0, math.inf),
        (1e-200, 1e-200, 1.0, 1.0), (1e-200, -1e-200, 1.0, 1.0), (2.0, 3.0, -6.0, 0.0),
    ]  # fmt: skip
    for a, b, c, expected in cases:
        assert call("cuda.fma", *map(np.float64, (a, b, c))) == expected, (a, b, c)
    for a, b, c in [(math.inf, 0.0, 1.0), (math.nan, 1.0, 1.0), (1.0, 1.0, math.nan), (math.inf, 1.0, -math.inf)]:
        assert np.isnan(call("cuda.fma", *map(np.float64, (a, b, c))))
    # in float32 by way of float64 this would be rounded twice, to 1 + 2**-23
    a, b, c = np.float32(1 + 2**-12), np.float32(1 + 2**-12), np.float32(-(2.0**-60))
    assert call("cuda.fma", a, b, c) == np.float32(1 + 2**-11)


def test_zero_results_when_rounding_down():
    assert math.copysign(1, call("cuda.libdevice.dadd_rd", np.float64(1), np.float64(-1))) == -1
    assert math.copysign(1, call("cuda.libdevice.dadd_rz", np.float64(1), np.float64(-1))) == 1
    assert math.copysign(1, call("cuda.libdevice.fma_rd", np.float64(2), np.float64(3), np.float64(-6))) == -1
    assert math.copysign(1, call("cuda.libdevice.fmaf_rd", np.float32(2), np.float32(3), np.float32(-6))) == -1
    assert math.copysign(1, call("cuda.libdevice.fadd_rd", np.float32(0), np.float32(0))) == 1


def test_cbrt_of_negative_numbers():
    assert call("cuda.cbrt", np.float64(-8.0)) == -2.0
    assert call("cuda.cbrt", np.array([27, -0.0], np.float32)).tolist() == [3.0, 0.0]


def test_selp_takes_one_of_two_values():
    assert call("cuda.selp", np.array([True, False]), np.int32(1), np.int32(2)).tolist() == [1, 2]


# --- values: libdevice and half precision ----------------------------------------------------------------------------


def test_rounding_functions_and_exponents():
    x = np.array([0.5, -0.5, 2.5, -2.5, 0.49999999999999994, 4503599627370497.0, -0.2])
    assert call("cuda.libdevice.round", x).tolist() == [1, -1, 3, -3, 0, 4503599627370497.0, 0]
    assert call("cuda.libdevice.rint", x).tolist() == [0, 0, 2, -2, 0, 4503599627370497.0, 0]
    assert call("cuda.libdevice.llround", np.array([2.5, -2.5, 1e30])).tolist() == [3, -3, (1 << 63) - 1]
    assert call("cuda.libdevice.logb", np.array([8.0, 0.3, 5e-324, -math.inf])).tolist() == [3, -2, -1074, math.inf]
    info = np.iinfo(np.int32)
    assert call("cuda.libdevice.ilogb", np.array([8.0, 0.3, 0.0, math.inf])).tolist() == [3, -2, info.min, info.max]
    assert call("cuda.libdevice.fdim", np.array([3.0, 1.0]), np.array([1.0, 3.0])).tolist() == [2, 0]
    assert np.isnan(call("cuda.libdevice.fdim", np.float64("nan"), np.float64(1)))
    assert call("cuda.libdevice.saturatef", np.array([-1, 0.25, 2, math.nan], np.float32)).tolist() == [0, 0.25, 1, 0]
    assert call("cuda.libdevice.signbitd", np.array([-0.0, 1.0])).tolist() == [1, 0]


def test_trigonometry_in_units_of_pi_is_exact_at_halves():
    x = np.array([0.0, 0.5, 1.0, 1.5, 2.0, -0.5, 1e15 + 0.5, 1e300, 0.25])
    root = math.sqrt(0.5)
    np.testing.assert_allclose(call("cuda.libdevice.sinpi", x), [0, 1, 0, -1, 0, -1, 1, 0, root], rtol=1e-15)
    np.testing.assert_allclose(call("cuda.libdevice.cospi", x), [1, 0, -1, 0, 1, 0, 0, 1, root], rtol=1e-15)
    sine, cosine = call("cuda.libdevice.sincospif", np.float32(0.5))
    assert (sine, cosine) == (1, 0) and sine.dtype == np.float32


def test_inverse_error_functions_invert():
    for p in [0.0, 1e-12, 1e-3, 0.1, 0.5, -0.7, 0.9, 0.99, -0.999999]:
        x = float(call("cuda.libdevice.erfinv", np.float64(p)))
        np.testing.assert_allclose(math.erf(x), p, rtol=4e-16)
    for q in [1e-300, 1e-20, 1e-3, 0.3, 0.9, 1.0, 1.2, 1.9]:
        np.testing.assert_allclose(math.erfc(call("cuda.libdevice.erfcinv", np.float64(q))), q, rtol=1e-13, atol=1e-16)
    for p in [1e-300, 1e-5, 0.2, 0.5, 0.9]:
        x = call("cuda.libdevice.normcdfinv", np.float64(p))
        np.testing.assert_allclose(call("cuda.libdevice.normcdf", x), p, rtol=1e-12)
    ends = call("cuda.libdevice.erfinv", np.array([1.0, -1.0, 1.5]))
    np.testing.assert_array_equal(ends, [math.inf, -math.inf, math.nan])
    np.testing.assert_array_equal(
        call("cuda.libdevice.erfcinv", np.array([0.0, 2.0, -1.0])), [math.inf, -math.inf, math.nan]
    )
    for x in [-3.0, 0.0, 0.5, 5.0, 20.0]:
        np.testing.assert_allclose(
            call("cuda.libdevice.erfcx", np.float64(x)), math.exp(x * x) * math.erfc(x), rtol=1e-13
        )
    below, above = (float(call("cuda.libdevice.erfcx", np.float64(x))) for x in (24.999999999, 25.000000001))
    assert below > above and below - above < 1e-11
    assert call("cuda.libdevice.erfcx", np.float64(-30)) == math.inf


def test_half_precision_arithmetic_rounds_once():
    a, b = np.float16(1 + 2**-10), np.float16(3)
    assert call("cuda.fp16.hfma", a, a, np.float16(-1)) == np.float16(float(a) * float(a) - 1)
    assert call("cuda.fp16.hadd", a, b) == a + b and call("cuda.fp16.hdiv", a, b).dtype == np.float16
    assert call("cuda.fp16.hfloor", np.float16(1.5)) == 1 and call("cuda.fp16.hceil", np.float16(1.5)) == 2
    assert call("cuda.fp16.hsqrt", np.float16(2)) == np.float16(math.sqrt(2))
    nan = np.float16("nan")
    assert (
        not call("cuda.fp16.hne", nan, nan) and call("cuda.fp16.__hneu", nan, nan) and call("cuda.fp16.__hltu", nan, b)
    )
    assert call("cuda.fp16.hmax", nan, b) == 3 and np.isnan(call("cuda.fp16.__hmax_nan", nan, b))
    assert call("cuda.fp16.__hadd_sat", b, b) == 1 and call("cuda.fp16.__hfma_relu", b, -b, b) == 0
    assert call("cuda.fp16.__half2int_rz", np.float16(-1.75)) == -1
    assert call("cuda.fp16.__float2half_ru", np.float32(1.0001)) == np.float16(1 + 2**-10)
    assert call("cuda.fp16.__hisinf", np.array([math.inf, -math.inf, 1], np.float16)).tolist() == [1, -1, 0]


def test_ufuncs_on_integers_do_not_raise():
    assert call("numpy.power", np.array([2, 5, 1]), np.array([-1, 3, -4])).tolist() == [0, 125, 1]
    assert call("numpy.floor_divide", np.array([7, -7], np.int32), np.int32(0)).tolist() == [0, 0]
    assert call("numpy.remainder", np.array([7, -7], np.int32), np.int32(4)).tolist() == [3, 1]
    assert np.isnan(call("numpy.maximum", np.float64("nan"), np.float64(1)))


# --- random numbers --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def numba_random():
    """numba-cuda's generator compiled for the CPU."""
    pytest.importorskip("numba.cuda", reason="compares with numba-cuda's generator")
    from numba.cuda import random as cuda_random

    return cuda_random


@pytest.mark.parametrize("seed, start", [(0, 0), (1, 0), (-5, 3), (123456789123456789, 1)])
def test_initial_states_are_those_of_numba(numba_random, seed, start):
    expected = np.zeros(50, numba_random.xoroshiro128p_dtype)
    numba_random.init_xoroshiro128p_states_cpu(expected, np.uint64(seed & (1 << 64) - 1), np.uint64(start))
    found = xoroshiro.init_states(50, seed, start)
    assert found.dtype == expected.dtype and found.tolist() == expected.tolist()


def test_random_streams_are_those_of_numba(numba_random):
    states = xoroshiro.init_states(20, 7)
    for kind in ("uniform_float32", "uniform_float64", "normal_float32", "normal_float64", "next"):
        reference = states.copy()
        function = getattr(numba_random, f"xoroshiro128p_{kind}")
        s0, s1 = states["s0"], states["s1"]
        for _ in range(30):
            expected = [function(reference, i) for i in range(20)]
            value, s0, s1 = call(f"cuda.random.xoroshiro128p_{kind}", s0, s1)
            exact = not kind.startswith("normal")
            tolerance = 0 if exact else 1e-5 if kind.endswith("32") else 1e-6  # both normals use a float32 logarithm
            np.testing.assert_allclose(
                value.astype(np.float64) if exact and kind != "next" else value,
                expected,
                rtol=tolerance,
                atol=tolerance,
            )
        assert s0.tolist() == reference["s0"].tolist() and s1.tolist() == reference["s1"].tolist(), kind


def test_one_thread_draws_what_its_lane_of_many_draws():
    states = xoroshiro.init_states(3, 11)
    many = call("cuda.random.xoroshiro128p_next", states["s0"], states["s1"])
    one = call("cuda.random.xoroshiro128p_next", states["s0"][2], states["s1"][2])
    assert [int(m[2]) for m in many] == [int(o) for o in one] and all(isinstance(o, np.uint64) for o in one)


def test_many_states_start_quickly_and_differ():
    states = xoroshiro.init_states(100_000, 42)
    assert len(np.unique(states["s0"])) == 100_000
    jumped = call("cuda.random.xoroshiro128p_jump", states["s0"][:-1], states["s1"][:-1])
    assert (jumped[0] == states["s0"][1:]).all() and (jumped[1] == states["s1"][1:]).all()
    assert xoroshiro.init_states(0, 1).size == 0


# --- the table itself ------------------------------------------------------------------------------------------------


def test_unknown_names_and_types_are_refused():
    assert functions.lookup("math.factorial") is None and functions.lookup("os.system") is None
    assert functions.lookup("cuda.fma").resolve((types.FLOAT64,)) is None
    assert functions.lookup("cuda.popc").resolve((types.COMPLEX64,)) is None
    assert functions.lookup("math.sin").resolve((np.dtype("U3"),)) is None
    assert "cuda.fma(float32, float32, float32)" in functions.lookup("cuda.fma").signature


def test_integer_division_keeps_its_fast_paths_exact():
    lanes = np.arange(-5000, 5000)
    for divisor in (1, 2, 8, 1 << 40, 3, -1, -8, 7):
        expected = [int(v) // divisor for v in lanes], [int(v) % divisor for v in lanes]
        assert arithmetic.floor_divide(lanes, np.int64(divisor)).tolist() == expected[0]
        assert arithmetic.modulo(lanes, np.int64(divisor)).tolist() == expected[1]
