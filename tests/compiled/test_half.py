"""Half-precision instructions of PTX, through the whole pipeline, against fractions."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from compiled.exact import BF16, F16, Format, edges, flushed, operands, sum_of_product
from compiled.snippet import run

from gpukit.errors import KernelSyntaxError, UnsupportedFeature
from gpukit.machine.frontends.ptx.instructions.half import function
from gpukit.machine.frontends.ptx.syntax import TYPES

COUNT = 1024
ONE = {F16: 0x3C00, BF16: 0x3F80}
TYPES_OF = {"f16": (F16, 1), "bf16": (BF16, 1), "f16x2": (F16, 2), "bf16x2": (BF16, 2)}


def bits_of(kind: str, values: list[int]) -> np.ndarray:
    """Values by their bits in the dtype of a PTX type."""
    dtype = TYPES[kind]
    return np.array(values, f"u{dtype.itemsize}").view(dtype)


def compare(kind: str, got: np.ndarray, expected: list[int], name: str, rows: list) -> None:
    found = got.view(f"u{got.dtype.itemsize}").tolist()
    wrong = [i for i, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b]
    if wrong:
        i = wrong[0]
        arguments = ", ".join(f"{bits:#x}" for bits in rows[i])
        raise AssertionError(f"{name} {kind} ({arguments}): {found[i]:#x}, not {expected[i]:#x}; {len(wrong)} wrong")


def check(name: str, kind: str, arity: int, reference: Callable[..., int], seed: int = 0) -> None:
    """name.kind on every row of operands against a reference over the bits of one half."""
    f, halves = TYPES_OF[kind]
    rows = operands(f, COUNT * halves, seed, arity)
    expected = [reference(*row) for row in rows]
    if halves == 2:  # the first of two rows is the low half
        rows = [
            tuple(low | high << 16 for low, high in zip(*pair, strict=True))
            for pair in zip(rows[::2], rows[1::2], strict=True)
        ]
        expected = [low | high << 16 for low, high in zip(expected[::2], expected[1::2], strict=True)]
    names = ["%a", "%b", "%c"][:arity]
    inputs = {n: (kind, bits_of(kind, list(column))) for n, column in zip(names, zip(*rows, strict=True), strict=True)}
    got = run(f"{name}.{kind} %d, {', '.join(names)};", inputs, {"%d": kind})
    compare(kind, got["%d"], expected, name, rows)


def clamped(f: Format, bits: int) -> int:
    """.sat"""
    return 0 if f.is_nan(bits) or bits & f.sign else min(bits, f.one)


def without_negative(f: Format, bits: int) -> int:
    """.relu"""
    return bits if f.is_nan(bits) or not bits & f.sign else 0


def arithmetic(f: Format, opcode: str) -> Callable[..., int]:
    minus = f.sign
    exact: dict[str, Callable[..., int]] = {
        "add": lambda x, y: sum_of_product(f, x, f.one, y),
        "sub": lambda x, y: sum_of_product(f, x, f.one, y ^ minus),
        # a product that is 0 keeps its sign when a 0 of this sign is added
        "mul": lambda x, y: sum_of_product(f, x, y, (x ^ y) & minus),
        "fma": lambda x, y, z: sum_of_product(f, x, y, z),
    }
    return exact[opcode]


def test_the_reference_agrees_with_struct():
    for bits in range(65536):
        (expected,) = struct.unpack("<e", struct.pack("<H", bits))
        number = F16.number(bits)
        assert math.isnan(number) if math.isnan(expected) else struct.pack("<d", number) == struct.pack("<d", expected)
    rng = np.random.default_rng(1)
    for value in (rng.normal(size=2000) * 10.0 ** rng.uniform(-9, 4, 2000)).tolist():
        (expected,) = struct.unpack("<H", struct.pack("<e", value))
        assert F16.rounded(Fraction(value), negative_zero=value < 0) == expected


@pytest.mark.parametrize("kind", TYPES_OF)
@pytest.mark.parametrize("name", ["add", "add.rn", "sub", "sub.rn", "mul", "mul.rn", "fma.rn"])
def test_arithmetic_rounds_once(name, kind):
    opcode = name.split(".")[0]
    check(name, kind, 3 if opcode == "fma" else 2, arithmetic(TYPES_OF[kind][0], opcode))


@pytest.mark.parametrize("kind", ["f16", "f16x2"])
@pytest.mark.parametrize("opcode", ["add", "sub", "mul", "fma.rn"])
def test_flushing_and_saturation(opcode, kind):
    arity, exact = (3 if opcode == "fma.rn" else 2), arithmetic(F16, opcode.split(".")[0])

    def flushing(*bits: int) -> int:
        return flushed(F16, exact(*(flushed(F16, b) for b in bits)))

    check(f"{opcode}.ftz", kind, arity, flushing)
    check(f"{opcode}.sat", kind, arity, lambda *bits: clamped(F16, exact(*bits)))
    check(f"{opcode}.ftz.sat", kind, arity, lambda *bits: clamped(F16, flushing(*bits)))


@pytest.mark.parametrize("kind", TYPES_OF)
def test_relu(kind):
    f = TYPES_OF[kind][0]
    check("fma.rn.relu", kind, 3, lambda x, y, z: without_negative(f, sum_of_product(f, x, y, z)))


@pytest.mark.parametrize("f", [F16, BF16], ids=lambda f: f.name)
def test_fma_of_a_product_half_way_between_two_numbers(f):
    """A far smaller addend decides the direction: computing the sum in float64 and rounding that would lose it."""
    rows = []
    for x in range(f.one, f.one + (2 << f.mantissa)):
        # (1 + 2i) * (1 + ...): odd products whose lowest bit is half a unit of the result
        y = f.one + (1 << f.mantissa - 1)  # 1.5
        rows += [(x, y, z | sign) for z in (0, 1, 2, 1 << f.mantissa) for sign in (0, f.sign)]
    columns = [bits_of(f.name, list(column)) for column in zip(*rows, strict=True)]
    size = len(rows) // 256 * 256
    inputs = {n: (f.name, c[:size]) for n, c in zip(("%a", "%b", "%c"), columns, strict=True)}
    got = run(f"fma.rn.{f.name} %d, %a, %b, %c;", inputs, {"%d": f.name})
    compare(f.name, got["%d"], [sum_of_product(f, *row) for row in rows[:size]], "fma", rows)


@pytest.mark.parametrize("kind", TYPES_OF)
def test_signs_of_all_numbers(kind):
    f, halves = TYPES_OF[kind]
    rows = list(range(65536))
    values = [(bits | (bits * 7 & 0xFFFF) << 16) if halves == 2 else bits for bits in rows]
    mask = 0x80008000 if halves == 2 else 0x8000
    ftz = f is F16
    body = f"neg.{kind} %n, %a;\nabs.{kind} %p, %a;\n"
    body += f"neg.ftz.{kind} %nf, %a;\nabs.ftz.{kind} %pf, %a;\n" if ftz else ""
    outputs = {"%n": kind, "%p": kind} | ({"%nf": kind, "%pf": kind} if ftz else {})
    got = run(body, {"%a": (kind, bits_of(kind, values))}, outputs)
    compare(kind, got["%n"], [v ^ mask for v in values], "neg", [(v,) for v in values])
    compare(kind, got["%p"], [v & ~mask for v in values], "abs", [(v,) for v in values])
    if ftz:
        small = [sum(flushed(f, v >> shift & 0xFFFF) << shift for shift in range(0, 16 * halves, 16)) for v in values]
        compare(kind, got["%nf"], [v ^ mask for v in small], "neg.ftz", [(v,) for v in values])
        compare(kind, got["%pf"], [v & ~mask for v in small], "abs.ftz", [(v,) for v in values])


def extreme(f: Format, opcode: str, nan: bool = False) -> Callable[[int, int], int]:
    choose = min if opcode == "min" else max

    def reference(x: int, y: int) -> int:
        if f.is_nan(x) or f.is_nan(y):
            both = f.is_nan(x) and f.is_nan(y)
            return f.nan if nan or both else (y if f.is_nan(x) else x)
        return choose((x, y), key=lambda bits: (f.number(bits), not bits & f.sign))

    return reference


@pytest.mark.parametrize("kind", TYPES_OF)
@pytest.mark.parametrize("opcode", ["min", "max"])
def test_minimum_and_maximum(opcode, kind):
    f = TYPES_OF[kind][0]
    magnitude = f.sign - 1

    def xorsign(x: int, y: int) -> int:
        result = extreme(f, opcode)(x & magnitude, y & magnitude)
        return result if f.is_nan(result) else result | (x ^ y) & f.sign

    check(opcode, kind, 2, extreme(f, opcode))
    check(f"{opcode}.NaN", kind, 2, extreme(f, opcode, nan=True))
    check(f"{opcode}.xorsign.abs", kind, 2, xorsign)
    if f is F16:
        check(f"{opcode}.ftz", kind, 2, lambda x, y: extreme(f, opcode)(flushed(f, x), flushed(f, y)))


RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda x, y: x == y, "ne": lambda x, y: x < y or x > y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
}  # fmt: skip
JOINED: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b
}  # fmt: skip


def holds(word: str, x: float, y: float) -> bool:
    unordered = math.isnan(x) or math.isnan(y)
    if word in ("num", "nan"):
        return unordered == (word == "nan")
    if word.endswith("u") and word[:-1] in RELATIONS:
        return unordered or RELATIONS[word[:-1]](x, y)
    return RELATIONS[word](x, y)


WORDS = [*RELATIONS, *(f"{word}u" for word in RELATIONS), "num", "nan"]


@pytest.mark.parametrize("f", [F16, BF16], ids=lambda f: f.name)
def test_comparisons(f):
    """Every relation on every pair of edges, alone and in pairs, as a predicate and as a value."""
    kind, pair = f.name, f"{f.name}x2"
    some = edges(f)
    low = [(x, y) for x in some for y in some][:1280]
    high = [(y, x ^ f.sign) for x, y in reversed(low)]
    given = {
        "%a": (kind, bits_of(kind, [x for x, _ in low])), "%b": (kind, bits_of(kind, [y for _, y in low])),
        "%a2": (pair, bits_of(pair, [x | z << 16 for (x, _), (z, _) in zip(low, high, strict=True)])),
        "%b2": (pair, bits_of(pair, [y | z << 16 for (_, y), (_, z) in zip(low, high, strict=True)])),
    }  # fmt: skip
    for word in WORDS:
        outputs = {
            "%p": "pred",
            "%q": "pred",
            "%r": "pred",
            "%h": kind,
            "%s": "u16",
            "%w": "s32",
            "%h2": pair,
            "%w2": "u32",
        }
        body = f"""
            setp.{word}.{kind} %p, %a, %b;
            setp.{word}.{pair} %q|%r, %a2, %b2;
            set.{word}.{kind}.{kind} %h, %a, %b;
            set.{word}.u16.{kind} %s, %a, %b;
            set.{word}.s32.{kind} %w, %a, %b;
            set.{word}.{pair}.{pair} %h2, %a2, %b2;
            set.{word}.u32.{pair} %w2, %a2, %b2;
        """
        got = run(body, given, outputs)
        first = np.array([holds(word, f.number(x), f.number(y)) for x, y in low])
        second = np.array([holds(word, f.number(x), f.number(y)) for x, y in high])
        one = ONE[f]
        expected = {
            "%p": first, "%q": first, "%r": second, "%h": first * one, "%s": first * 0xFFFF,
            "%w": -first.astype(np.int32),
            "%h2": first * one + second * (one << 16), "%w2": first * 0xFFFF + second * 0xFFFF0000,
        }  # fmt: skip
        for name, values in expected.items():
            found = got[name] if got[name].dtype != np.float16 else got[name].view(np.uint16)
            np.testing.assert_array_equal(found, values, f"{word} {name}")


@pytest.mark.parametrize("combine", JOINED)
def test_comparisons_with_a_predicate(combine):
    some = edges(F16)
    rows = [(x, y) for x in some for y in some][:1280]
    rng = np.random.default_rng(3)
    condition = rng.random(len(rows)) < 0.5
    pair = "f16x2"
    given = {
        "%a": ("f16", bits_of("f16", [x for x, _ in rows])), "%b": ("f16", bits_of("f16", [y for _, y in rows])),
        "%a2": (pair, bits_of(pair, [x | y << 16 for x, y in rows])),
        "%b2": (pair, bits_of(pair, [y | x << 16 for x, y in rows])), "%c": ("pred", condition),
    }  # fmt: skip
    body = f"""
        setp.lt.{combine}.f16 %p, %a, %b, %c;
        setp.lt.{combine}.ftz.f16 %n, %a, %b, !%c;
        set.lt.{combine}.f16.f16 %h, %a, %b, %c;
        set.lt.{combine}.f16x2.f16x2 %h2, %a2, %b2, %c;
        set.lt.{combine}.u32.f16x2 %w2, %a2, %b2, !%c;
        setp.lt.{combine}.f16x2 %c|%q, %a2, %b2, %c;
    """
    outputs = {"%p": "pred", "%n": "pred", "%q": "pred", "%r": "pred", "%h": "f16", "%h2": pair, "%w2": "u32"}
    got = run(body + "mov.pred %r, %c;", given, outputs)
    join = JOINED[combine]
    less = [F16.number(x) < F16.number(y) for x, y in rows]
    flat = [F16.number(flushed(F16, x)) < F16.number(flushed(F16, y)) for x, y in rows]
    more = [F16.number(y) < F16.number(x) for x, y in rows]
    low = np.array([join(a, b) for a, b in zip(less, condition, strict=True)])
    high = np.array([join(a, b) for a, b in zip(more, condition, strict=True)])
    not_low = np.array([join(a, not b) for a, b in zip(less, condition, strict=True)])
    not_high = np.array([join(a, not b) for a, b in zip(more, condition, strict=True)])
    np.testing.assert_array_equal(got["%p"], low)
    np.testing.assert_array_equal(got["%n"], [join(a, not b) for a, b in zip(flat, condition, strict=True)])
    np.testing.assert_array_equal(got["%h"], low)
    np.testing.assert_array_equal(got["%h2"], low * 0x3C00 + high * 0x3C000000)
    np.testing.assert_array_equal(got["%w2"], not_low * 0xFFFF + not_high * 0xFFFF0000)
    np.testing.assert_array_equal(got["%r"], low)  # written over the predicate that the high half still needed
    np.testing.assert_array_equal(got["%q"], high)


@pytest.mark.parametrize("f", [F16, BF16], ids=lambda f: f.name)
def test_approximate_functions_of_all_numbers(f):
    """Within the error that the manual gives, and truncated like the hardware's results."""
    kind, pair = f.name, f"{f.name}x2"
    rows = list(range(65536))
    given = {"%a": (kind, bits_of(kind, rows)), "%b": (pair, bits_of(pair, [bits | bits << 16 for bits in rows]))}
    ex2 = "ex2.approx" if f is F16 else "ex2.approx.ftz"
    body = f"""
        {ex2}.{kind} %e, %a;
        {ex2}.{pair} %e2, %b;
        tanh.approx.{kind} %t, %a;
        tanh.approx.{pair} %t2, %b;
    """
    got = run(body, given, {"%e": kind, "%e2": pair, "%t": kind, "%t2": pair})
    tanh, power = got["%t"].view(np.uint16).tolist(), got["%e"].view(np.uint16).tolist()
    np.testing.assert_array_equal(got["%t2"], np.array(tanh, np.uint32) * 0x10001)
    np.testing.assert_array_equal(got["%e2"], np.array(power, np.uint32) * 0x10001)
    ex2_error, tanh_error = (2**-9.9, 2**-10.987) if f is F16 else (2**-7, 2**-8)
    least, largest, slack = 2.0 ** (1 - f.bias), f.number(f.infinity - 1), 1 + 2**-22
    for bits in rows:
        x, e, t = f.number(bits), f.number(power[bits]), f.number(tanh[bits])
        if math.isnan(x):
            assert power[bits] == tanh[bits] == f.nan
            continue
        assert abs(t - math.tanh(x)) <= tanh_error
        assert abs(t) <= abs(math.tanh(x)) * slack
        assert math.copysign(1, t) == math.copysign(1, x)
        exact = 2.0**x if x < 1000 else math.inf
        if exact > largest:
            assert e == math.inf
        elif exact >= least:
            assert exact * (1 - ex2_error) <= e <= exact * slack
        else:
            assert e == 0 if f is BF16 else exact - F16.number(1) <= e <= exact * slack


def test_approximate_functions_give_what_an_h200_gave():
    """Some of the results in data/results/h200_ptx_instructions.json that are not the nearest ones."""
    for name, kind, given, expected in [
        ("ex2.approx.f16", "f16", 0x8C8B, 0x3BFF), ("ex2.approx.f16", "f16", 0x3995, 0x3E7C),
        ("tanh.approx.f16", "f16", 0x3800, 0x3764), ("tanh.approx.f16x2", "f16x2", 0x3C003A52, 0x3A173944),
        ("ex2.approx.ftz.bf16", "bf16", 0x3E16, 0x3F8D), ("tanh.approx.bf16", "bf16", 0x3F80, 0x3F42),
        ("ex2.approx.ftz.bf16x2", "bf16x2", 0xBF803F71, 0x3F003FF5),
        ("tanh.approx.bf16x2", "bf16x2", 0x4083AB13, 0x3F7FAB13),
    ]:  # fmt: skip
        got = run(f"{name} %d, %a;", {"%a": (kind, bits_of(kind, [given]))}, {"%d": kind})
        compare(kind, got["%d"], [expected], name, [(given,)])


OPCODES = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "min": 2, "max": 2, "ex2": 1, "tanh": 1}


@pytest.mark.parametrize("kind", TYPES_OF)
@pytest.mark.parametrize("opcode", OPCODES)
def test_scalars_and_arrays_give_the_same_in_the_same_type(opcode, kind):
    code = function(opcode, kind)
    rows = [bits_of(kind, [0x3C003E00 % (1 << 8 * TYPES[kind].itemsize)] * 3) for _ in range(OPCODES[opcode])]
    with np.errstate(all="ignore"):
        arrays, scalars = code(*rows), code(*(row[0] for row in rows))
        mixed = code(rows[0], *(row[0] for row in rows[1:]))
    assert isinstance(scalars, np.generic)
    assert scalars.dtype == arrays.dtype == mixed.dtype == TYPES[kind]
    assert arrays.tolist() == mixed.tolist() == [scalars.item()] * 3


def test_operands_that_are_uniform_or_literal():
    values = bits_of("f16", [0x3C00, 0x4000, 0xC200, 0x7BFF])
    pairs = bits_of("f16x2", [0x3C004000, 0xC2000001, 0x7C003C00, 0])
    body = """
        mov.b16 %u, 0x4200;
        mov.b32 %v, 0x42004400;
        add.f16 %d, %a, 0x3C00;
        fma.rn.f16 %e, %a, %u, 0x3C00;
        fma.rn.f16 %f, %u, %u, %u;
        add.f16x2 %g, %b, %v;
        mul.f16x2 %h, %v, 0x40003C00;
        setp.gt.f16x2 %p|_, %v, 0x43004300;
        setp.gt.f16x2 _|%q, %v, 0x43004300;
    """
    outputs = {"%d": "f16", "%e": "f16", "%f": "f16", "%g": "f16x2", "%h": "f16x2", "%p": "pred", "%q": "pred"}
    got = run(body, {"%a": ("f16", values), "%b": ("f16x2", pairs)}, outputs, declare=".reg .b16 %u; .reg .b32 %v;")
    assert got["%d"].tolist() == [2, 3, -2, 65504]
    assert got["%e"].tolist() == [4, 7, -8, math.inf]
    assert got["%f"].tolist() == [12] * 4
    assert got["%g"].tolist() == [0x44004600, 0x00004400, 0x7C004500, 0x42004400]
    assert got["%h"].tolist() == [0x46004400] * 4
    assert got["%p"].all() and not got["%q"].any()


def test_guarded_arithmetic():
    values = bits_of("f16", [0x3C00, 0x4000, 0xC200, 0x4400])
    guard = np.array([True, False, True, False])
    body = "mov.b16 %d, %a;\n@%p add.f16 %d, %d, %d;\n@!%p neg.f16 %d, %d;"
    got = run(body, {"%a": ("f16", values), "%p": ("pred", guard)}, {"%d": "f16"})
    assert got["%d"].tolist() == [2, -2, -6, -4]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("fma.rn.oob.f16 %h, %h, %h, %h;", "oob"),
        ("add.rz.f16 %h, %h, %h;", "rz"),
        ("add.f32.f16 %f, %h, %f;", "add.f32.f16"),
        ("set.lt.f32.f16 %f, %h, %h;", "set.lt.f32.f16"),
        ("set.lt.u16.f16x2 %h, %r, %r;", "set.lt.u16.f16x2"),
        ("setp.lt.f16 %p|%q, %h, %h;", "two predicates"),
        ("setp.lo.f16 %p, %h, %h;", "lo"),
        ("min.f16 %h, %h, %h, %h;", "4 operands"),
    ],
)
def test_what_is_refused(body, word):
    declare = ".reg .b16 %h; .reg .b32 %r; .reg .f32 %f; .reg .pred %p, %q;"
    with pytest.raises((KernelSyntaxError, UnsupportedFeature), match=word.replace(".", r"\.")):
        run(body, {"%a": ("u32", np.zeros(4, np.uint32))}, {"%a": "u32"}, declare=declare)
