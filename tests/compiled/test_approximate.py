"""Approximate float functions of PTX, through the whole pipeline: special values of the manual, and accuracy.

They are held to more than PTX promises: the machine computes them to the last bit, give or take a rare second rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from compiled.exact import F32, F64, edges, flushed
from compiled.snippet import run
from hypothesis import given
from hypothesis import strategies as st

from gpukit.machine.frontends.ptx.instructions import approximate
from gpukit.machine.frontends.ptx.syntax import TYPES

INF, NAN = math.inf, math.nan
TINY = float(F32.value(1))  # the smallest subnormal number
NORMAL = float(F32.value(1 << F32.mantissa))
LARGEST = float(F32.value(F32.infinity - 1))


def evaluate(instruction: str, *columns: list[float], kind: str = "f32") -> list[float]:
    names = ["%a", "%b"][: len(columns)]
    inputs = {name: (kind, np.array(v, TYPES[kind])) for name, v in zip(names, columns, strict=True)}
    return run(f"{instruction} %d, {', '.join(names)};", inputs, {"%d": kind})["%d"].tolist()


def same(found: float, expected: float) -> bool:
    """Equal, with the sign of zeros; NaN equals NaN."""
    if math.isnan(expected):
        return math.isnan(found)
    return found == expected and math.copysign(1, found) == math.copysign(1, expected)


# Instruction without its .f32 -> operand -> result, from the tables of the PTX manual.
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "rcp.approx": [(-INF, -0.0), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN), (TINY, INF), (2.0**127, 2.0**-127)],
    "rcp.approx.ftz": [(-TINY, -INF), (TINY, INF), (2.0**127, 0.0), (-(2.0**127), -0.0)],
    "sqrt.approx": [(-INF, NAN), (-1.0, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, INF), (NAN, NAN), (2.0**-148, 2.0**-74)],
    "sqrt.approx.ftz": [(-TINY, -0.0), (TINY, 0.0)],
    "rsqrt.approx": [(-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN), (2.0**-148, 2.0**74)],
    "rsqrt.approx.ftz": [(-TINY, -INF), (TINY, INF)],
    "sin.approx": [(-INF, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, NAN), (NAN, NAN)],
    "sin.approx.ftz": [(-TINY, -0.0), (TINY, 0.0)],
    "cos.approx": [(-INF, NAN), (-0.0, 1.0), (0.0, 1.0), (INF, NAN), (NAN, NAN)],
    "cos.approx.ftz": [(TINY, 1.0)],
    "lg2.approx": [
        (-INF, NAN),
        (-1.0, NAN),
        (-0.0, -INF),
        (0.0, -INF),
        (INF, INF),
        (NAN, NAN),
        (TINY, -149.0),
        (1.0, 0.0),
    ],
    "lg2.approx.ftz": [(TINY, -INF), (-TINY, -INF)],
    "ex2.approx": [
        (-INF, 0.0),
        (-0.0, 1.0),
        (0.0, 1.0),
        (INF, INF),
        (NAN, NAN),
        (128.0, INF),
        (-149.0, TINY),
        (10.0, 1024.0),
    ],
    "ex2.approx.ftz": [(-127.0, 0.0), (-126.0, NORMAL), (TINY, 1.0)],
    "tanh.approx": [(-INF, -1.0), (-0.0, -0.0), (0.0, 0.0), (INF, 1.0), (NAN, NAN), (TINY, TINY)],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name):
    found = evaluate(f"{name}.f32", [x for x, _ in SPECIAL[name]])
    for (x, expected), result in zip(SPECIAL[name], found, strict=True):
        assert same(result, expected), (name, x, result, expected)


@pytest.mark.parametrize("form", ["approx", "approx.ftz", "full", "full.ftz"])
def test_special_quotients(form):
    cases = [
        (1.0, 0.0, INF),
        (1.0, -0.0, -INF),
        (0.0, 0.0, NAN),
        (INF, INF, NAN),
        (1.0, INF, 0.0),
        (-1.0, INF, -0.0),
        (NAN, 1.0, NAN),
        (6.0, -2.0, -3.0),
        (1.0, 2.0**126, 2.0**-126),
    ]
    if "full" in form:
        cases += [(LARGEST, 2.0**127, LARGEST * 2.0**-127), (INF, LARGEST, INF)]
    else:  # the reciprocal of such divisors counts as zero
        cases += [(LARGEST, 2.0**127, 0.0), (-1.0, 2.0**127, -0.0), (3.0, -LARGEST, -0.0), (INF, LARGEST, NAN)]
    if "ftz" in form:
        cases += [(TINY, 1.0, 0.0), (-TINY, 1.0, -0.0), (1.0, TINY, INF), (NORMAL, 2.0, 0.0)]
    else:
        cases += [(TINY, 1.0, TINY), (NORMAL, 2.0, NORMAL / 2), (TINY, TINY, 1.0)]
    dividends, divisors, quotients = map(list, zip(*cases, strict=True))
    found = evaluate(f"div.{form}.f32", dividends, divisors)
    for a, b, result, expected in zip(dividends, divisors, found, quotients, strict=True):
        assert same(result, expected), (form, a, b, result, expected)


# Function -> (its value in double precision, operands).
REFERENCES: dict[str, tuple[Callable[[float], float], tuple[float, float]]] = {
    "ex2": (lambda x: 2.0**x, (-160.0, 127.9)),
    "lg2": (math.log2, (1e-3, 4.0)),
    "tanh": (math.tanh, (-12.0, 12.0)),
    "sqrt": (math.sqrt, (0.0, 1e10)),
    "rsqrt": (lambda x: 1 / math.sqrt(x), (1e-10, 1e10)),
    "rcp": (lambda x: 1 / x, (1e-6, 1e6)),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_functions_are_right_to_the_last_bit(name):
    function, (low, high) = REFERENCES[name]
    draw = np.random.default_rng(8)
    x = draw.uniform(low, high, 2048).astype(np.float32)
    x[::4] = (low + (high - low) * draw.random(512) ** 8).astype(np.float32)  # many close to the lower end
    if low < 0:
        x[1::4] = (draw.uniform(-1, 1, 512) * 2.0 ** draw.integers(-30, 2, 512)).astype(np.float32)
    for value, found in zip(x.tolist(), evaluate(f"{name}.approx.f32", x.tolist()), strict=True):
        exact = function(value)
        ulp = float(np.spacing(np.float32(exact)))
        assert abs(found - exact) <= 0.5001 * abs(ulp), (name, value, found, exact)


@pytest.mark.parametrize(("name", "function"), [("sin", math.sin), ("cos", math.cos)])
def test_angles_lose_what_their_scaling_to_turns_loses(name, function):
    x = np.random.default_rng(8).uniform(-100 * math.pi, 100 * math.pi, 2048).astype(np.float32)
    x[::4] /= 50
    for value, found in zip(x.tolist(), evaluate(f"{name}.approx.f32", x.tolist()), strict=True):
        limit = 2.0**-20.5 if abs(value) <= 2 * math.pi else 2.0**-14.7
        assert abs(found - function(value)) <= limit, (name, value)
    # 1e9 is so many turns that float32 holds no fraction of them.
    far = np.float32(1e9)
    turns = Fraction(float(far)) * Fraction(float(np.float32(1 / (2 * math.pi))))
    unit = Fraction(2) ** (27 - 23)  # of floats from 2**27 on
    left = float(turns // unit * unit % 1)
    (found,) = evaluate(f"{name}.approx.f32", [float(far)])
    assert abs(found - function(2 * math.pi * left)) < 1e-6


def test_quotients_are_right_to_the_last_bit():
    draw = np.random.default_rng(9)
    a, b = (np.ldexp(draw.uniform(-2, 2, 1024), draw.integers(-40, 40, 1024)).astype(np.float32) for _ in range(2))
    for form in ("approx", "full"):
        assert evaluate(f"div.{form}.f32", a.tolist(), b.tolist()) == (a / b).tolist()


# --- doubles -------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, F64.infinity - 1), min_size=1, max_size=30))
def test_rsqrt_of_a_double_is_within_a_unit_and_nearly_always_nearest(bits):
    x = np.array(bits, np.uint64).view(np.float64)
    with np.errstate(all="ignore"):
        found = approximate.precise_reciprocal_root(x)
    for value, root in zip(x.tolist(), found.tolist(), strict=True):
        for reach, sign in ((Fraction(51, 100), -1), (Fraction(51, 100), 1)):
            bound = Fraction(root) + sign * reach * Fraction(math.ulp(root))
            assert (bound * bound * Fraction(value) > 1) == (sign == 1), (value, root)


def test_rsqrt_of_special_doubles():
    cases = [
        *((-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)),
        *((5e-324, 2.0**537), (2.0**1022, 2.0**-511)),
    ]
    found = evaluate("rsqrt.approx.f64", [x for x, _ in cases], kind="f64")
    for (x, expected), result in zip(cases, found, strict=True):
        assert same(result, expected), (x, result, expected)


UPPER = 0xFFFFFFFF00000000
EXACT_UPPER: dict[str, Callable[[Fraction, Fraction], bool]] = {
    # whether `result` is at most the function of `operand`
    "rcp": lambda operand, result: result * operand <= 1,
    "rsqrt": lambda operand, result: result * result * operand <= 1,
}


@pytest.mark.parametrize("name", EXACT_UPPER)
def test_upper_words_of_doubles(name):
    draw = np.random.default_rng(10)
    bits = [int(b) for b in draw.integers(1 << 52, F64.infinity, 512)]
    x = np.array(bits, np.uint64).view(np.float64)
    found = run(f"{name}.approx.ftz.f64 %d, %a;", {"%a": ("f64", x)}, {"%d": "f64"})["%d"].view(np.uint64).tolist()
    below = EXACT_UPPER[name]
    for operand, result in zip(bits, found, strict=True):
        assert result & ~UPPER == 0
        if flushed(F64, result) == 0:
            continue
        value = F64.value(operand & UPPER)  # the lower word of the operand counts for nothing
        assert below(value, F64.value(result)) and not below(value, F64.value(result + (1 << 32)))


@pytest.mark.parametrize("name", EXACT_UPPER)
def test_upper_words_of_special_doubles(name):
    subnormal = 1 << 51
    cases = {
        0: F64.infinity,
        F64.sign: F64.sign | F64.infinity,
        subnormal: F64.infinity,
        subnormal | F64.sign: F64.sign | F64.infinity,
        F64.infinity: 0,
        F64.infinity | 1 << 51: 0x7FFFFFFF00000000,
        F64.infinity | F64.sign: F64.sign if name == "rcp" else 0x7FFFFFFF00000000,
        F64.infinity - 1: 0 if name == "rcp" else 0x1FF00000 << 32,
    }
    x = np.array(list(cases), np.uint64).view(np.float64)
    found = run(f"{name}.approx.ftz.f64 %d, %a;", {"%a": ("f64", x)}, {"%d": "f64"})["%d"].view(np.uint64)
    assert [hex(v) for v in found.tolist()] == [hex(v) for v in cases.values()]


def test_nan_of_an_approximate_function_is_that_of_all_f32_instructions():
    nans = np.array([bits for bits in edges(F32) if F32.is_nan(bits)], np.uint32)
    for name in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"):
        found = run(f"{name}.approx.f32 %d, %a;", {"%a": ("f32", nans.view(np.float32))}, {"%d": "b32"})["%d"]
        assert set(found.tolist()) == {F32.nan}
