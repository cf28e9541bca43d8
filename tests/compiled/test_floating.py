"""Arithmetic on f32 and f64 in PTX, through the whole pipeline, against exact arithmetic on fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from compiled.exact import F32, F64, Format, edges, flushed, operands
from compiled.snippet import module_text, run
from hypothesis import given
from hypothesis import strategies as st

from gpukit.errors import KernelSyntaxError, UnsupportedFeature
from gpukit.machine import executor
from gpukit.machine.arithmetic import rounding
from gpukit.machine.frontends import ptx
from gpukit.machine.frontends.ptx.syntax import TYPES
from gpukit.machine.memory import GlobalMemory
from gpukit.machine.program import Alu, Launch

FORMATS = {"f32": F32, "f64": F64}
MODES = ("rn", "rz", "rm", "rp")
COUNT = 384
# f32 with more room for the exponent than any result needs
ROOMY = Format("f32 without a smallest number", 13, 23)


# --- references over bits ------------------------------------------------------------------------------------------


def nan_of(f: Format, *values: int) -> int:
    """The NaN of an operation whose operands are `values`, the one whose NaN is handed on first."""
    if f is F32:
        return f.nan
    quiet = 1 << f.mantissa - 1
    return next((bits | quiet for bits in values if f.is_nan(bits)), f.sign | f.infinity | quiet)


def fused(f: Format, mode: str, x: int, y: int, z: int, nan_order: tuple[int, ...] | None = None) -> int:
    """x * y + z, rounded once."""
    if all(map(f.is_finite, (x, y, z))):
        product, addend = f.value(x) * f.value(y), f.value(z)
        negative_product, negative_addend = bool((x ^ y) & f.sign), bool(z & f.sign)
        negative_zero = negative_product if negative_product == negative_addend else mode == "rm"
        return f.rounded(product + addend, mode, negative_zero)
    infinite_product = not (f.is_finite(x) and f.is_finite(y))
    zero_product = any(f.is_finite(v) and f.value(v) == 0 for v in (x, y))
    opposite = bool((x ^ y ^ z) & f.sign)
    if any(map(f.is_nan, (x, y, z))) or (infinite_product and (zero_product or (not f.is_finite(z) and opposite))):
        return nan_of(f, *((y, z, x) if nan_order is None else nan_order))
    return f.infinity | ((x ^ y if infinite_product else z) & f.sign)


def add(f: Format, mode: str, x: int, y: int) -> int:
    return fused(f, mode, x, f.one, y, nan_order=(y, x))


def subtract(f: Format, mode: str, x: int, y: int) -> int:
    if f.is_nan(y):
        return nan_of(f, y)
    return fused(f, mode, x, f.one, y ^ f.sign, nan_order=(x,))


def multiply(f: Format, mode: str, x: int, y: int) -> int:
    same_sign_zero = (x ^ y) & f.sign  # adding it changes nothing, not even the sign of 0
    return fused(f, mode, x, y, same_sign_zero, nan_order=(y, x))


def divide(f: Format, mode: str, x: int, y: int) -> int:
    sign = (x ^ y) & f.sign
    zeros = [f.is_finite(v) and f.value(v) == 0 for v in (x, y)]
    infinite = [not f.is_finite(v) for v in (x, y)]
    if f.is_nan(x) or f.is_nan(y) or all(zeros) or all(infinite):
        return nan_of(f, x, y)
    if infinite[0] or zeros[1]:
        return sign | f.infinity
    if infinite[1] or zeros[0]:
        return sign
    return f.rounded(f.value(x) / f.value(y), mode)


def reciprocal(f: Format, mode: str, x: int) -> int:
    return nan_of(f, x) if f.is_nan(x) else divide(f, mode, f.one, x)


def square_root(f: Format, mode: str, x: int) -> int:
    if f.is_nan(x) or (x & f.sign and x != f.sign):
        return nan_of(f, x)
    if x in (0, f.sign, f.infinity):
        return x
    exact = f.value(x)
    scale = 2400  # even, and enough for the root of the smallest number to have all its bits
    whole = exact * 2**scale
    root = math.isqrt(whole.numerator // whole.denominator)
    # A root that goes on after the last bit counts as a little more.
    rest = Fraction(0) if root * root == whole else Fraction(1, 2)
    return f.rounded((root + rest) / 2 ** (scale // 2), mode)


REFERENCES: dict[str, tuple[Callable[..., int], int]] = {
    "add": (add, 2),
    "sub": (subtract, 2),
    "mul": (multiply, 2),
    "fma": (fused, 3),
    "mad": (fused, 3),
    "div": (divide, 2),
    "rcp": (reciprocal, 1),
    "sqrt": (square_root, 1),
}


def flushing(reference: Callable[..., int], mode: str) -> Callable[..., int]:
    """With .ftz: operands and results below the smallest normal number become 0, before exponents get scarce."""

    def roomy(bits: int) -> int:
        if not F32.is_finite(bits):
            return ROOMY.infinity | (ROOMY.sign if bits & F32.sign else 0)
        return ROOMY.rounded(F32.value(bits), "rn", bool(bits & F32.sign))

    def flushed_reference(*values: int) -> int:
        values = tuple(flushed(F32, bits) for bits in values)
        result = reference(F32, mode, *values)
        if F32.is_nan(result):
            return result
        free = reference(ROOMY, mode, *map(roomy, values))
        if ROOMY.is_finite(free) and abs(ROOMY.value(free)) < F32.value(1 << F32.mantissa):
            return result & F32.sign
        return result

    return flushed_reference


def clamped(bits: int) -> int:
    """.sat"""
    return 0 if F32.is_nan(bits) or bits & F32.sign else min(bits, F32.one)


# --- operands ------------------------------------------------------------------------------------------------------


def delicate(f: Format, count: int, seed: int) -> list[tuple[int, int, int]]:
    """x, y and z whose x * y + z is next to a tie, cancels, or is next to the smallest normal number."""
    draw = np.random.default_rng(seed)
    rows = []
    p = f.mantissa
    while len(rows) < count:
        sign = draw.choice([-1, 1], 3)
        odd = 2 * int(draw.integers(0, 1 << p)) + 1
        exponent = int(draw.integers(-8, 8))
        z = Fraction(int(draw.integers(1 << p, 2 << p))) * Fraction(2) ** (exponent - p)
        kind, low = len(rows) % 6, 1 - f.bias
        u = Fraction(1, 2 ** int(draw.integers(p // 2 - 1, p)))
        x, y = 1 + u, 1 - u + (u * u if u * u >= Fraction(1, 2**p) else 0)  # whose product is 1 + u**3 or 1 - u**2
        if kind == 0:  # the product is half a unit of z, and a little more or less
            y *= Fraction(2) ** (exponent - p - 1)
        elif kind == 1:  # the same among the subnormal numbers
            x *= Fraction(2) ** (low // 2)
            y *= Fraction(2) ** (low - low // 2 - p - 1)
            below = int(draw.integers(0, 1 << p)) >> int(draw.integers(0, p))
            z = Fraction((1 << p) - 1 - below) * Fraction(2) ** (low - p)
        elif kind == 2:  # the product and z nearly cancel
            x, y = Fraction(odd, 2**p), Fraction(2 * int(draw.integers(0, 1 << p)) + 1, 2**p)
            z = x * y + Fraction(int(draw.integers(-2, 3)), 2**p)
            sign[2] = -sign[0] * sign[1]
        elif kind == 3:  # the sum has few bits: often a tie, without anything beyond
            x, y = Fraction(int(draw.integers(1, 64))), Fraction(int(draw.integers(1, 64)), 2 ** int(draw.integers(p)))
        else:  # near the smallest normal number, with and without an addend
            x = Fraction(odd, 2**p) * Fraction(2) ** (low // 2)
            y = Fraction(2 * int(draw.integers(0, 1 << p)) + 1, 2**p) * Fraction(2) ** (low - low // 2 + 4 - kind)
            z = Fraction(int(draw.integers(0, 1 << p))) * Fraction(2) ** (low - p) * (kind == 5)
        rows.append(tuple(f.rounded(v * int(s)) for v, s in zip((x, y, z), sign, strict=True)))
    return rows


def reciprocals(f: Format) -> list[tuple[int, int, int]]:
    """Numbers whose reciprocals are next to the smallest normal number, divided by and multiplied with some near 1."""
    large = f.bias - 1 + f.bias << f.mantissa
    return [(large + i, f.one + j, f.one - 1 + i) for i in range(-4, 12) for j in range(-8, 8)]


# Bits of a, b and c.
ROWS = {
    name: operands(f, COUNT, seed=3, arity=3) + delicate(f, COUNT, seed=4) + reciprocals(f)
    for name, f in FORMATS.items()
}


def columns(kind: str, rows: list[tuple[int, ...]]) -> list[np.ndarray]:
    dtype = TYPES[kind]
    return [np.array(column, f"u{dtype.itemsize}").view(dtype) for column in zip(*rows, strict=True)]


def evaluate(instruction: str, kind: str, arity: int, rows: list[tuple[int, ...]]) -> list[int]:
    """Bits of the result of `instruction` for each row."""
    names = ["%a", "%b", "%c"][:arity]
    values = columns(kind, [row[:arity] for row in rows])
    inputs = {name: (kind, value) for name, value in zip(names, values, strict=True)}
    got = run(f"{instruction} %d, {', '.join(names)};", inputs, {"%d": kind})["%d"]
    return got.view(f"u{got.dtype.itemsize}").tolist()


def check(instruction: str, kind: str, arity: int, reference: Callable[..., int]) -> None:
    rows = ROWS[kind]
    found = evaluate(instruction, kind, arity, rows)
    for row, bits in zip(rows, found, strict=True):
        expected = reference(*row[:arity])
        assert bits == expected, (instruction, [hex(v) for v in row[:arity]], hex(bits), hex(expected))


# --- rounded arithmetic --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("opcode", REFERENCES)
def test_results_are_exact_and_rounded_once(opcode, kind, mode):
    reference, arity = REFERENCES[opcode]
    f = FORMATS[kind]
    check(f"{opcode}.{mode}.{kind}", kind, arity, lambda *values: reference(f, mode, *values))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opcode", REFERENCES)
def test_ftz_flushes_operands_and_results(opcode, mode):
    reference, arity = REFERENCES[opcode]
    check(f"{opcode}.{mode}.ftz.f32", "f32", arity, flushing(reference, mode))


@pytest.mark.parametrize("opcode", ["add", "sub", "mul", "fma", "mad"])
def test_sat_clamps_to_zero_and_one(opcode):
    reference, arity = REFERENCES[opcode]
    check(f"{opcode}.rn.sat.f32", "f32", arity, lambda *values: clamped(reference(F32, "rn", *values)))
    flushed_reference = flushing(reference, "rz")
    check(f"{opcode}.rz.ftz.sat.f32", "f32", arity, lambda *values: clamped(flushed_reference(*values)))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("opcode", ["add", "sub", "mul"])
def test_without_a_mode_results_round_to_nearest(opcode, kind):
    assert evaluate(f"{opcode}.{kind}", kind, 2, ROWS[kind]) == evaluate(f"{opcode}.rn.{kind}", kind, 2, ROWS[kind])


# --- fma, whose quick way must know when not to be taken -----------------------------------------------------------


def through_float64(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The sum rounded twice: to float64 and then to float32."""
    return (x.astype(np.float64) * y + z).astype(np.float32)


def test_fma_of_f32_is_right_where_two_roundings_are_wrong():
    twice_rounded_differs = 0
    rows = delicate(F32, 4096, seed=11)
    x, y, z = columns("f32", rows)
    with np.errstate(all="ignore"):
        found = rounding.fma(np.dtype(np.float32))(x, y, z).view(np.uint32).tolist()
        naive = through_float64(x, y, z).view(np.uint32).tolist()
    for row, bits, twice in zip(rows, found, naive, strict=True):
        expected = fused(F32, "rn", *row)
        assert bits == expected, [hex(v) for v in row]
        twice_rounded_differs += twice != expected
    assert twice_rounded_differs > 100  # or these operands would prove nothing


def test_fma_of_f64_is_right_where_the_inner_sum_is_inexact():
    rows = delicate(F64, 4096, seed=12)
    x, y, z = columns("f64", rows)
    with np.errstate(all="ignore"):
        found = rounding.fma(np.dtype(np.float64))(x, y, z).view(np.uint64).tolist()
    assert found == [fused(F64, "rn", *row) for row in rows]


def any_bits(f: Format) -> st.SearchStrategy[int]:
    """Numbers of all kinds: edges, any bits, and few bits with an exponent near that of 1."""
    few = st.builds(
        lambda sign, mantissa, exponent: f.rounded(Fraction(sign * mantissa) * Fraction(2) ** exponent),
        st.sampled_from([-1, 1]),
        st.integers(1, 4 << f.mantissa),
        st.integers(-2 * f.mantissa - 6, 4),
    )
    return st.one_of(st.sampled_from(edges(f)), st.integers(0, (1 << f.bits) - 1), few)


@pytest.mark.parametrize("kind", FORMATS)
def test_fma_of_any_operands(kind):
    f, dtype = FORMATS[kind], TYPES[kind]
    function = rounding.fma(dtype)

    @given(st.lists(st.tuples(any_bits(f), any_bits(f), any_bits(f)), min_size=1, max_size=40))
    def holds(rows):
        with np.errstate(all="ignore"):
            found = function(*columns(kind, rows))
        for row, value in zip(rows, found, strict=True):
            expected = fused(f, "rn", *row)
            bits = int(value.view(f"u{dtype.itemsize}"))
            assert bits == expected or (f.is_nan(bits) and f.is_nan(expected)), [hex(v) for v in row]

    holds()


@pytest.mark.parametrize("kind", FORMATS)
def test_fma_takes_any_mix_of_scalars_and_vectors(kind):
    dtype = TYPES[kind]
    function = rounding.fma(dtype)
    x, y, z = (np.array([v, v], dtype) for v in (1 + 2.0**-12, 1 + 2.0**-12, 2.0**-80))
    expected = function(x, y, z)
    for mask in range(8):
        mixed = [v[0] if mask >> i & 1 else v for i, v in enumerate((x, y, z))]
        found = function(*mixed)
        assert found.dtype == dtype
        assert isinstance(found, np.ndarray) == (mask != 7)
        assert (found == expected).all()


# --- signs, minimum and maximum ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
def test_neg_and_abs_change_the_sign_alone(kind):
    f = FORMATS[kind]
    check(f"neg.{kind}", kind, 1, lambda x: nan_of(f, x) if f.is_nan(x) else x ^ f.sign)
    check(f"abs.{kind}", kind, 1, lambda x: nan_of(f, x) if f.is_nan(x) else x & ~f.sign)
    check(f"copysign.{kind}", kind, 2, lambda sign, x: x & ~f.sign | sign & f.sign)


def test_neg_and_abs_with_ftz():
    check("neg.ftz.f32", "f32", 1, lambda x: F32.nan if F32.is_nan(x) else flushed(F32, x) ^ F32.sign)
    check("abs.ftz.f32", "f32", 1, lambda x: F32.nan if F32.is_nan(x) else flushed(F32, x) & ~F32.sign)


def best(f: Format, largest: bool, nan_wins: bool, *values: int) -> int:
    """The smallest or largest, -0 below +0; NaN loses, or wins."""
    numbers = [v for v in values if not f.is_nan(v)]
    if not numbers or (nan_wins and len(numbers) < len(values)):
        return nan_of(f, *reversed(values))

    def rank(bits: int) -> int:
        return ~(bits & ~f.sign) if bits & f.sign else bits

    return (max if largest else min)(numbers, key=rank)


@pytest.mark.parametrize("opcode", ["min", "max"])
def test_min_and_max(opcode):
    largest = opcode == "max"
    check(f"{opcode}.f32", "f32", 2, lambda *v: best(F32, largest, False, *v))
    check(f"{opcode}.f64", "f64", 2, lambda *v: best(F64, largest, False, *v))
    check(f"{opcode}.NaN.f32", "f32", 2, lambda *v: best(F32, largest, True, *v))
    check(f"{opcode}.ftz.f32", "f32", 2, lambda *v: best(F32, largest, False, *(flushed(F32, x) for x in v)))
    check(f"{opcode}.f32", "f32", 3, lambda *v: best(F32, largest, False, *v))
    check(f"{opcode}.NaN.f32", "f32", 3, lambda *v: best(F32, largest, True, *v))
    check(f"{opcode}.abs.f32", "f32", 3, lambda *v: best(F32, largest, False, *(x & ~F32.sign for x in v)))


@pytest.mark.parametrize("opcode", ["min", "max"])
@pytest.mark.parametrize("nan", ["", ".NaN"])
def test_min_and_max_of_magnitudes_with_the_sign_of_the_product(opcode, nan):
    def reference(x: int, y: int) -> int:
        found = best(F32, opcode == "max", bool(nan), x & ~F32.sign, y & ~F32.sign)
        return found if F32.is_nan(found) else found | (x ^ y) & F32.sign

    check(f"{opcode}{nan}.xorsign.abs.f32", "f32", 2, reference)


# --- two floats in one register ------------------------------------------------------------------------------------


@pytest.mark.parametrize("instruction", ["add.rn", "sub.rz", "mul.rp.ftz", "fma.rn", "fma.rm.ftz", "add"])
def test_f32x2_computes_both_halves(instruction):
    arity = 3 if instruction.startswith("fma") else 2
    rows = ROWS["f32"]
    expected = evaluate(f"{instruction}.f32", "f32", arity, rows)
    inputs = {
        name: ("b64", np.array(column, np.uint32).view(np.uint64))
        for name, column in zip(("%a", "%b", "%c"), zip(*rows, strict=True), strict=True)
    }
    names = ", ".join(["%a", "%b", "%c"][:arity])
    found = run(f"{instruction}.f32x2 %d, {names};", inputs, {"%d": "b64"})["%d"]
    assert found.view(np.uint32).tolist() == expected


# --- what the hazard checks are told -------------------------------------------------------------------------------


def bound(body: str, x: float = 0.0, y: float = 0.0, s: float = 0.0) -> Launch:
    """A snippet of four threads that computes the new %s from %x, %y and %s."""
    kinds = {"%x": "f32", "%y": "f32", "%s": "f32"}
    kernel = ptx.load(module_text(body, kinds, {"%s": "f32"})).kernel("snippet")
    arrays = [np.full(4, value, np.float32) for value in (x, y, s, 0.0)]
    return kernel.bind((1, 1, 1), (4, 1, 1), arrays, 0, GlobalMemory())


def checked(body: str) -> list[tuple[str | None, tuple]]:
    """(check, sources) of the arithmetic of a snippet."""
    arithmetic = (op for block in bound(body).program.blocks for op in block.ops if isinstance(op, Alu))
    return [(op.check, op.src) for op in arithmetic if op.check is not None]


def test_a_running_sum_is_watched_for_additions_that_get_lost():
    (kind, (total, value)), (also, (same, _)) = checked("add.f32 %s, %s, %x; add.f32 %s, %y, %s;")
    assert kind == also == "accumulate"
    assert total == same != value
    assert checked("sub.f32 %s, %s, %x;")[0][0] == "accumulate"
    assert checked("sub.f32 %s, %x, %s;")[0][0] == "float"
    assert checked("add.f32 %s, %x, %y;")[0][0] == "float"
    assert checked("fma.rn.f32 %s, %x, %y, %s;")[0][0] == "accumulate_product"
    assert checked("fma.rn.f32 %s, %s, %x, %y;")[0][0] == "float"


@pytest.mark.parametrize("instruction", ["mul.f32 %s, %x, %y", "fma.rn.f32 %s, %x, %y, %x", "div.rn.f32 %s, %x, %y",
                                         "div.approx.f32 %s, %x, %y", "rcp.rn.f32 %s, %x", "sqrt.approx.f32 %s, %x",
                                         "rsqrt.approx.f32 %s, %x", "lg2.approx.f32 %s, %x"])  # fmt: skip
def test_what_can_make_nan_or_infinity_is_watched(instruction):
    assert [kind for kind, _ in checked(f"{instruction};")] == ["float"]


@pytest.mark.parametrize("instruction", ["mul.rn.f32 %s, %x, %y", "mul.rz.f32 %s, %x, %y", "fma.rn.f32 %s, %x, %y, %s",
                                         "fma.rz.ftz.f32 %s, %x, %y, %s"])  # fmt: skip
def test_zero_times_infinity_is_told_from_other_nan(instruction):
    found = executor.run(bound(f"{instruction};", x=0.0, y=math.inf)).findings
    assert [finding.details["cause"] for finding in found if finding.kind == "nan_propagation"] == ["zero times"]
    assert not executor.run(bound(f"{instruction};", x=math.nan, y=2.0)).findings


@pytest.mark.parametrize("instruction", ["neg.f32 %s, %x", "max.f32 %s, %x, %y", "copysign.f32 %s, %x, %y"])
def test_what_cannot_is_not(instruction):
    assert checked(f"{instruction};") == []


# --- refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "instruction",
    [
        "add.rn.rz.f32 %d, %a, %b",
        "add.rna.f32 %d, %a, %b",
        "add.f32 %d, %a",
        "add.sat.f64 %e, %f, %f",
        "add.ftz.f64 %e, %f, %f",
        "fma.rn.sat.f64 %e, %f, %f, %f",
        "fma.rn.relu.f32 %d, %a, %b, %a",
        "div.rn.sat.f32 %d, %a, %b",
        "div.full.f64 %e, %f, %f",
        "sqrt.approx.f64 %e, %f",
        "rcp.approx.f64 %e, %f",
        "min.NaN.f64 %e, %f, %f",
        "min.xorsign.f32 %d, %a, %b",
        "min.abs.f32 %d, %a, %b",
        "max.xorsign.abs.f32 %d, %a, %b, %a",
        "max.f64 %e, %f, %f, %f",
        "abs.sat.f32 %d, %a",
        "copysign.ftz.f32 %d, %a, %b",
        "tanh.approx.ftz.f32 %d, %a",
        "sin.f64 %e, %f",
    ],
)
def test_what_is_not_ptx_or_not_known_is_refused_by_name(instruction):
    one, two = np.zeros(2, np.float32), np.zeros(2)
    inputs = {"%a": ("f32", one), "%b": ("f32", one), "%f": ("f64", two)}
    with pytest.raises((KernelSyntaxError, UnsupportedFeature), match=instruction.split()[0].replace(".", r"\.")):
        run(f"{instruction};", inputs, {"%d": "f32", "%e": "f64"})
