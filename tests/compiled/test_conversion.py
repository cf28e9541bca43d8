"""cvt and cvt.pack of PTX, through the whole pipeline, against Python integers and fractions."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from compiled.exact import BF16, F16, F32, FORMATS, Format, edges, flushed, operands, to_integer
from compiled.integers import bits, limits
from compiled.snippet import run

from gpukit.errors import KernelSyntaxError, UnsupportedFeature
from gpukit.machine.frontends.ptx.instructions.conversion import conversion
from gpukit.machine.frontends.ptx.syntax import TYPES

INTEGERS = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
MODES = ["rn", "rz", "rm", "rp"]
COUNT = 512


def held(kind: str, values: list[int]) -> np.ndarray:
    """Values by their bits (or as integers of any sign) in the dtype of a PTX type."""
    dtype = TYPES[kind]
    mask = (1 << 8 * dtype.itemsize) - 1
    return np.array([value & mask for value in values], f"u{dtype.itemsize}").view(dtype)


def check(source: str, rows: list[int], conversions: dict[str, Callable[[int], int]], ignore_nan: bool = False) -> None:
    """Runs several conversions of the same values: {"rn.f32.s32": bits of the source -> bits of the result}."""
    outputs = {f"%r{i}": name.split(".")[-2] for i, name in enumerate(conversions)}
    body = "\n".join(f"cvt.{name} {target}, %a;" for target, name in zip(outputs, conversions, strict=True))
    got = run(body, {"%a": (source, held(source, rows))}, outputs)
    for (target, kind), (name, reference) in zip(outputs.items(), conversions.items(), strict=True):
        found = got[target].view(f"u{TYPES[kind].itemsize}").tolist()
        mask = (1 << 8 * TYPES[kind].itemsize) - 1
        for value, result in zip(rows, found, strict=True):
            expected = reference(value) & mask
            if ignore_nan and kind in FORMATS and FORMATS[kind].is_nan(expected):
                assert FORMATS[kind].is_nan(result), f"cvt.{name} of {value:#x}: {result:#x}, not a NaN"
            else:
                assert result == expected, f"cvt.{name} of {value:#x}: {result:#x}, not {expected:#x}"


def integers(kind: str, seed: int = 0) -> list[int]:
    """Values of an integer type: the limits of every type, halves between floats, random ones of every length."""
    low, high = limits(kind)
    some = {v + d for other in INTEGERS for v in limits(other) for d in (-1, 0, 1)}
    for mantissa in (7, 10, 23, 52):  # one and a half unit in the last place, and what is near it
        some |= {(1 << mantissa + 1) + d for d in (-1, 0, 1, 2, 3)} | {(3 << mantissa + 1) + d for d in (3, 5, 6, 7)}
        some |= {(1 << 62) + (1 << 62 - mantissa - 1) + d for d in (-1, 0, 1)}
        some |= {(1 << 63) + (1 << 63 - mantissa - 1) + d for d in (-1, 0, 1)}
    some |= {-v for v in some} | {65503, 65504, 65519, 65520, 65521, 65535}
    rng = np.random.default_rng(seed)
    fitting = [v for v in sorted(some) if low <= v <= high]
    while len(fitting) < COUNT:
        value = int(rng.integers(0, 1 << 63)) << 1 | int(rng.integers(0, 2))
        value >>= int(rng.integers(0, 64))
        value = value & high if low == 0 else (value & high) * int(rng.choice([-1, 1]))
        fitting.append(value)
    return fitting[:COUNT]


def floats(f: Format, *, near_limits: bool = False) -> list[int]:
    """Bits of a format: edges, numbers around the limits of integers, random ones."""
    rows = edges(f)
    if near_limits:
        for kind in INTEGERS:
            for limit in limits(kind):
                for fraction in (
                    Fraction(0),
                    Fraction(1, 2),
                    Fraction(1, 4),
                    Fraction(3, 4),
                    Fraction(1),
                    Fraction(3, 2),
                ):
                    for sign in (1, -1):
                        middle = f.rounded(Fraction(limit) + sign * fraction)
                        rows += [bits for bits in (middle - 1, middle, middle + 1) if 0 <= bits < 1 << f.bits]
        rows += [f.rounded(Fraction(n, 4), negative_zero=n < 0) for n in range(-24, 25)]
    size = -(-(len(rows) + 128) // 256) * 256
    return rows + [bits for (bits,) in operands(f, size - len(rows), 5)]


# --- integers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_integer(source):
    conversions: dict[str, Callable[[int], int]] = {}
    for result in INTEGERS:
        low, high = limits(result)
        conversions[f"{result}.{source}"] = lambda v: v
        conversions[f"sat.{result}.{source}"] = lambda v, low=low, high=high: min(max(v, low), high)
    check(source, integers(source), conversions)


@pytest.mark.parametrize("kind", INTEGERS)
def test_registers_wider_than_the_type(kind):
    """The low bits of the source count; the result is extended by its sign or by zeros."""
    rng = np.random.default_rng(7)
    wide = rng.integers(0, 1 << 64, 256, dtype=np.uint64)
    body = f"cvt.{kind}.s64 %w, %a;\ncvt.s64.{kind} %d, %a;\ncvt.rn.f64.{kind} %f, %a;"
    got = run(body, {"%a": ("u64", wide)}, {"%w": "b64", "%d": "s64", "%f": "f64"})
    low, high = limits(kind)
    inside = [(int(v) - low) % (high - low + 1) + low for v in wide]
    assert got["%d"].tolist() == [v if v < 1 << 63 else v - (1 << 64) for v in inside]
    assert got["%w"].view(np.int64).tolist() == got["%d"].tolist()
    assert got["%f"].tolist() == [float(v) for v in inside]


@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_float(source):
    conversions: dict[str, Callable[[int], int]] = {}
    for name, f in FORMATS.items():
        for mode in MODES:
            conversions[f"{mode}.{name}.{source}"] = lambda v, f=f, mode=mode: f.rounded(Fraction(v), mode)
        if f is not BF16:
            conversions[f"rn.sat.{name}.{source}"] = lambda v, f=f: f.one if v > 0 else 0
    conversions[f"rz.ftz.f32.{source}"] = lambda v: F32.rounded(Fraction(v), "rz")
    check(source, integers(source), conversions)


# --- floats --------------------------------------------------------------------------------------------------------


def integer_of(f: Format, result: str, mode: str) -> Callable[[int], int]:
    low, high = limits(result)
    nan = 1 << bits(result) - 1 if f.name == "f64" or bits(result) == 64 else 0

    def reference(v: int) -> int:
        if f.is_nan(v):
            return nan
        if not f.is_finite(v):
            return low if v & f.sign else high
        return min(max(to_integer(f.value(v), mode), low), high)

    return reference


@pytest.mark.parametrize("f", FORMATS.values(), ids=FORMATS)
def test_float_to_integer_saturates(f):
    rows = floats(f, near_limits=True)
    conversions = {f"{mode}i.{result}.{f.name}": integer_of(f, result, mode) for result in INTEGERS for mode in MODES}
    conversions[f"rzi.sat.u8.{f.name}"] = integer_of(f, "u8", "rz")
    check(f.name, rows, conversions)


def test_float_to_integer_of_flushed_numbers():
    conversions = {
        f"{mode}i.ftz.{result}.f32": lambda v, result=result, mode=mode: integer_of(F32, result, mode)(flushed(F32, v))
        for mode in MODES
        for result in ("s32", "u64", "s8")
    }
    check("f32", floats(F32), conversions)


def float_of(have: Format, want: Format, mode: str) -> Callable[[int], int]:
    def reference(v: int) -> int:
        if have.is_nan(v):
            return want.nan
        sign = want.sign if v & have.sign else 0
        if not have.is_finite(v):
            return want.infinity | sign
        return want.rounded(have.value(v), mode, bool(sign))

    return reference


def half_way(have: Format, want: Format) -> list[int]:
    """Numbers in the middle between two of a narrower format, and their neighbours; some of them subnormal there."""
    rng = np.random.default_rng(2)
    rows = []
    for code in [
        0,
        1,
        2,
        3,
        (1 << want.mantissa) - 1,
        want.infinity - 1,
        *rng.integers(0, want.infinity - 1, 40).tolist(),
    ]:
        step = want.value(code) - want.value(code - 1) if code else want.value(1)
        middle = have.rounded(want.value(code) + step / 2)
        rows += [b | sign for b in (middle - 1, middle, middle + 1) if b >= 0 for sign in (0, have.sign)]
    return rows


@pytest.mark.parametrize("have", FORMATS.values(), ids=FORMATS)
def test_float_to_float(have):
    rows = floats(have)
    for want in FORMATS.values():
        if want.mantissa < have.mantissa:
            rows += half_way(have, want)
    rows += [0] * (-len(rows) % 256)
    conversions: dict[str, Callable[[int], int]] = {}
    for name, want in FORMATS.items():
        if want.bits > have.bits:
            conversions[f"{name}.{have.name}"] = float_of(have, want, "rn")
        elif want is not have:
            for mode in MODES:
                conversions[f"{mode}.{name}.{have.name}"] = float_of(have, want, mode)
    check(have.name, rows, conversions, ignore_nan=True)


@pytest.mark.parametrize("f", FORMATS.values(), ids=FORMATS)
def test_rounding_to_an_integer_that_stays_a_float(f):
    rows = list(range(65536)) if f.bits == 16 else floats(f, near_limits=True)
    too_large = f.bias + f.mantissa << f.mantissa  # for a fraction, up to infinite and NaN
    fractions = {v: f.value(v) for v in rows if v & f.sign - 1 < too_large}

    @cache
    def bits_of(integer: int, negative_zero: bool) -> int:
        return f.rounded(Fraction(integer), "rn", negative_zero)

    def rounding(mode: str) -> Callable[[int], int]:
        return lambda v: bits_of(to_integer(fractions[v], mode), bool(v & f.sign)) if v in fractions else v

    check(f.name, rows, {f"{mode}i.{f.name}.{f.name}": rounding(mode) for mode in MODES}, ignore_nan=True)


def saturated(f: Format, value: int) -> int:
    return 0 if f.is_nan(value) or value & f.sign else min(value, f.one)


def test_saturation_to_the_unit_interval():
    for have in (F16, F32, FORMATS["f64"]):
        conversions: dict[str, Callable[[int], int]] = {}
        for want in (F16, F32, FORMATS["f64"]):
            mode = "rn." if want.bits < have.bits else ""
            conversions[f"{mode}sat.{want.name}.{have.name}"] = lambda v, a=have, b=want: saturated(
                b, float_of(a, b, "rn")(v)
            )
        check(have.name, floats(have, near_limits=True), conversions)


def test_flushing_of_float32():
    to_f16, to_f64, to_bf16 = (
        float_of(F32, FORMATS[name], mode) for name, mode in (("f16", "rp"), ("f64", "rn"), ("bf16", "rp"))
    )
    conversions = {
        "ftz.f32.f32": lambda v: flushed(F32, v),
        "rpi.ftz.f32.f32": lambda v: (
            F32.rounded(Fraction(to_integer(F32.value(flushed(F32, v)), "rp")), "rn", v >= F32.sign)
            if F32.is_finite(v)
            else v
        ),
        "rp.ftz.f16.f32": lambda v: to_f16(flushed(F32, v)),
        "rp.ftz.bf16.f32": lambda v: to_bf16(flushed(F32, v)),
        "ftz.f64.f32": lambda v: to_f64(flushed(F32, v)),
    }
    check("f32", floats(F32), conversions, ignore_nan=True)
    f64 = FORMATS["f64"]
    tiny = [f64.rounded(sign * Fraction(n, 7) * Fraction(2) ** -126) for n in range(1, 65) for sign in (1, -1)]
    check("f64", tiny, {"rn.ftz.f32.f64": lambda v: flushed(F32, float_of(f64, F32, "rn")(v))})
    check("bf16", list(range(65536)), {"ftz.f32.bf16": lambda v: flushed(F32, v << 16)}, ignore_nan=True)


def modified(f: Format, value: int, modifiers: str) -> int:
    """The result of a conversion to a half, changed by .satfinite and .relu."""
    if f.is_nan(value):
        return f.nan
    if "satfinite" in modifiers and not f.is_finite(value):
        value -= 1
    return 0 if "relu" in modifiers and value & f.sign else value


@pytest.mark.parametrize("f", [F16, BF16], ids=lambda f: f.name)
@pytest.mark.parametrize("modifiers", ["", ".relu", ".satfinite", ".relu.satfinite"])
def test_float32_to_halves_and_pairs(f, modifiers):
    rows = floats(F32) + half_way(F32, f)
    rows += [0] * (-len(rows) % 256)
    others = rows[::-1]
    for mode in ("rn", "rz"):
        one = float_of(F32, f, mode)
        expected = [modified(f, one(v), modifiers) for v in rows]
        if modifiers:
            check("f32", rows, {f"{mode}{modifiers}.{f.name}.f32": lambda v, one=one: modified(f, one(v), modifiers)})
        given = {"%a": ("f32", held("f32", rows)), "%b": ("f32", held("f32", others))}
        got = run(f"cvt.{mode}{modifiers}.{f.name}x2.f32 %d, %a, %b;", given, {"%d": f"{f.name}x2"})
        pairs = [high << 16 | low for high, low in zip(expected, expected[::-1], strict=True)]
        assert got["%d"].tolist() == pairs


# --- tf32 ----------------------------------------------------------------------------------------------------------


def tf32(v: int, mode: str, modifiers: str) -> int:
    """float32 with a mantissa of 10 bits in the upper 19 bits."""
    magnitude, sign = v & 0x7FFFFFFF, v & 0x80000000
    if magnitude > F32.infinity:
        return sign | magnitude & 0x7FFFE000 if mode == "rna" else 0x7FFFE000
    if magnitude < F32.infinity:
        fraction = Fraction(magnitude, 1 << 13)
        whole = to_integer(fraction + Fraction(1, 2), "rm") if mode == "rna" else to_integer(fraction, mode)
        magnitude = whole << 13
    if "satfinite" in modifiers and magnitude == F32.infinity:
        magnitude -= 1 << 13
    return 0 if "relu" in modifiers and sign else sign | magnitude


@pytest.mark.parametrize("name", ["rna", "rn", "rz", "rna.satfinite", "rn.satfinite", "rn.relu", "rz.satfinite.relu"])
def test_tf32(name):
    mode, _, modifiers = name.partition(".")
    rows = floats(F32) + [v | low for v in edges(F32) for low in (0x0FFF, 0x1000, 0x1001, 0x3000)]
    rows = [v for v in rows if not (v & 0x7FFFFFFF > F32.infinity and v & 0x7FE000 == 0)]  # such a NaN becomes infinite
    rows += [0] * (-len(rows) % 256)
    got = run(f"cvt.{name}.tf32.f32 %d, %a;", {"%a": ("f32", held("f32", rows))}, {"%d": "b32"})
    assert [hex(v) for v in got["%d"].tolist()] == [hex(tf32(v, mode, modifiers)) for v in rows]


# --- 8-bit floats --------------------------------------------------------------------------------------------------

# e4m3 has no infinity: the one code of all ones is NaN, and what would be infinity in the manner of IEEE is a number.
E4M3, E5M2 = Format("e4m3", 4, 3), Format("e5m2", 5, 2)


def value_of_code(f: Format, code: int) -> Fraction | None:
    """The number of an 8-bit code, None for NaN and infinity."""
    exponent, mantissa = (code & 127) >> f.mantissa, code & (1 << f.mantissa) - 1
    if code & 127 == 127 if f is E4M3 else code & 127 >= f.infinity:
        return None
    whole = mantissa + (1 << f.mantissa if exponent else 0)
    magnitude = Fraction(whole) * Fraction(2) ** (max(exponent, 1) - f.bias - f.mantissa)
    return -magnitude if code & 128 else magnitude


def code_of(f: Format, have: Format, v: int, relu: bool) -> int:
    """The nearest code to a number; the even one of two."""
    if have.is_nan(v):
        return 127
    if relu and v & have.sign:
        return 0
    values = VALUES[f.name]
    largest = len(values) - 1
    sign = 128 if v & have.sign else 0
    if not have.is_finite(v):
        return sign | largest
    magnitude = abs(have.value(v))
    low = bisect.bisect_right(values, magnitude) - 1
    if low == largest:
        return sign | low
    below, above = magnitude - values[low], values[low + 1] - magnitude
    return sign | (low + 1 if above < below or (above == below and low % 2) else low)


# The numbers of the codes without a sign, in ascending order.
VALUES = {f.name: [value for code in range(128) if (value := value_of_code(f, code)) is not None] for f in (E4M3, E5M2)}


@pytest.mark.parametrize("f", [E4M3, E5M2], ids=lambda f: f.name)
def test_every_code_of_8_bits_as_halves(f):
    rows = [code | (code * 7 + 3 & 255) << 8 for code in range(256)]
    body = f"cvt.rn.f16x2.{f.name}x2 %d, %a;\ncvt.rn.relu.f16x2.{f.name}x2 %e, %a;\ncvt.rn.bf16x2.{f.name}x2 %b, %a;"
    got = run(body, {"%a": (f"{f.name}x2", held("u16", rows))}, {"%d": "f16x2", "%e": "f16x2", "%b": "bf16x2"})

    def half(h: Format, code: int) -> int:
        value = value_of_code(f, code)
        if value is not None:
            return h.rounded(value, "rn", code >= 128)
        return h.infinity | (code & 128) << 8 if f is E5M2 and code & 3 == 0 else h.nan

    for name, h in (("%d", F16), ("%b", BF16)):
        assert got[name].tolist() == [half(h, v >> 8) << 16 | half(h, v & 255) for v in rows]
    positive = [[modified(F16, half(F16, code), "relu") for code in (v >> 8, v & 255)] for v in rows]
    assert got["%e"].tolist() == [high << 16 | low for high, low in positive]


@pytest.mark.parametrize("f", [E4M3, E5M2], ids=lambda f: f.name)
@pytest.mark.parametrize("relu", ["", ".relu"])
def test_halves_and_floats_to_8_bits(f, relu):
    name = f"cvt.rn.satfinite{relu}.{f.name}x2"
    for h in (F16, BF16):
        every = [code_of(f, h, v, bool(relu)) for v in range(65536)] if h is F16 else None
        rows = list(range(65536)) if every else floats(h)
        codes = every or [code_of(f, h, v, bool(relu)) for v in rows]
        given = {"%a": (f"{h.name}x2", held("b32", [v << 16 | w for v, w in zip(rows, rows[::-1], strict=True)]))}
        got = run(f"{name}.{h.name}x2 %d, %a;", given, {"%d": "b16"})
        assert got["%d"].tolist() == [v << 8 | w for v, w in zip(codes, codes[::-1], strict=True)]
    values = VALUES[f.name]
    middles = [F32.rounded((a + b) / 2) + d for a, b in itertools.pairwise(values) for d in (0, 1, -1)]
    rows = floats(F32) + [v | sign for v in middles if v >= 0 for sign in (0, F32.sign)]
    rows += [0] * (-len(rows) % 256)
    codes = [code_of(f, F32, v, bool(relu)) for v in rows]
    given = {"%a": ("f32", held("f32", rows)), "%b": ("f32", held("f32", rows[::-1]))}
    got = run(f"{name}.f32 %d, %a, %b;", given, {"%d": "b16"})
    assert got["%d"].tolist() == [v << 8 | w for v, w in zip(codes, codes[::-1], strict=True)]


# --- cvt.pack ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"])
def test_pack(kind):
    width, signed = int(kind[1:]), kind[0] == "s"
    low = -(1 << width - 1) if signed else 0
    high = low + (1 << width) - 1
    a = integers("s32", 1)
    b, c = a[::-1], integers("u32", 2)
    given = {"%a": ("s32", held("s32", a)), "%b": ("s32", held("s32", b)), "%c": ("b32", held("b32", c))}
    third = width < 16
    body = f"cvt.pack.sat.{kind}.s32{'.b32' if third else ''} %d, %a, %b{', %c' if third else ''};"
    got = run(body, given, {"%d": "b32"})["%d"].tolist()
    mask = (1 << width) - 1
    for x, y, z, found in zip(a, b, c, got, strict=True):
        parts = [min(max(v, low), high) & mask for v in (y, x)]
        expected = parts[0] | parts[1] << width | ((z << 2 * width) & 0xFFFFFFFF if third else 0)
        assert found == expected, f"{kind} {x} {y} {z:#x}: {found:#x}, not {expected:#x}"


# --- forms ---------------------------------------------------------------------------------------------------------


def test_uniform_and_literal_operands():
    body = """
        mov.b32 %u, 0f40600000;
        cvt.rni.s32.f32 %d, %u;
        cvt.rn.f16.f32 %h, %u;
        cvt.rn.bf16x2.f32 %p, %u, %f;
        cvt.rn.satfinite.e4m3x2.f32 %e, %f, %u;
        cvt.rni.s8.f32 %s, 0fC3000000;
        cvt.pack.sat.u8.s32.b32 %k, %d, 300, 0;
        cvt.rz.bf16.u64 %b, 257;
    """
    outputs = {"%d": "s32", "%h": "f16", "%p": "b32", "%e": "b16", "%s": "s32", "%k": "b32", "%b": "b16"}
    given = {"%f": ("f32", np.array([1, -2, 448, 1000], np.float32))}
    got = run(body, given, outputs, declare=".reg .b32 %u;")
    assert got["%d"].tolist() == [4] * 4
    assert got["%h"].tolist() == [3.5] * 4
    assert got["%p"].tolist() == [0x40603F80, 0x4060C000, 0x406043E0, 0x4060447A]
    assert got["%e"].tolist() == [0x3846, 0xC046, 0x7E46, 0x7E46]
    assert got["%s"].tolist() == [-128] * 4
    assert got["%k"].tolist() == [0x04FF] * 4
    assert got["%b"].tolist() == [0x4380] * 4


def test_scalars_and_arrays_give_the_same_in_the_same_type():
    forms = 0
    for source in (*INTEGERS, *FORMATS, "f16x2", "bf16x2", "e4m3x2", "e5m2x2"):
        for result in (*INTEGERS, *FORMATS, "f16x2", "bf16x2", "e4m3x2", "e5m2x2", "tf32"):
            for words in (
                "",
                "sat",
                "rn",
                "rz",
                "rm",
                "rp sat",
                "rni",
                "rpi ftz",
                "rn ftz",
                "rna",
                "rn satfinite relu",
            ):
                code = conversion(result, source, tuple(words.split()))
                if code is None:
                    continue
                forms += 1
                arity = 2 if source == "f32" and result.endswith("x2") else 1
                array = held(source, [3 << 3 * TYPES[source].itemsize] * 3)
                with np.errstate(all="ignore"):
                    got = [applied(code, *[values] * arity) for values in (array, array[0])]
                name = f"{result}.{source} {words}"
                assert isinstance(got[1], np.generic), name
                assert got[0].dtype == got[1].dtype == TYPES[result], name
                assert got[0].tolist() == [got[1].item()] * 3, name
    assert forms > 500


def applied(code: str | Callable, *values: np.ndarray) -> np.ndarray:
    return eval(code.format("values[0]"), {"np": np, "values": values}) if isinstance(code, str) else code(*values)


@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("s64.s32", "{0}.astype('i8')"), ("u64.u32", "{0}.astype('u8')"), ("u32.u64", "{0}.astype('u4')"),
        ("rn.f32.s32", "{0}.astype('f4')"), ("f64.f32", "{0}.astype('f8')"), ("f32.f16", "{0}.astype('f4')"),
        ("rn.f16.f32", "{0}.astype('f2')"), ("rn.f32.f64", "{0}.astype('f4')"),
    ],
)  # fmt: skip
def test_frequent_conversions_are_one_cast(name, template):
    *modifiers, result, source = name.split(".")
    assert conversion(result, source, tuple(modifiers)) == template


@pytest.mark.parametrize(
    "name",
    [
        "f32.s32", "s32.f32", "f16.f32", "rn.s32.f32", "rni.f32.s32", "rni.f16.f32", "rn.relu.f32.f64", "rs.f16x2.f32",
        "rn.satfinite.e2m1x2.f32", "rn.e4m3x2.f32", "rz.satfinite.e4m3x2.f32", "rp.f16x2.f32", "rm.tf32.f32",
        "pack.sat.u8.s32", "pack.u8.s32.b32", "rn.rz.f16.f32", "rna.f16.f32", "rn.satfinite.f32.f64", "rn.u8.s32",
    ],
)  # fmt: skip
def test_what_is_refused(name):
    declare = ".reg .b64 %d; .reg .b32 %r;"
    with pytest.raises((KernelSyntaxError, UnsupportedFeature), match=re.escape(f"`cvt.{name}`")):
        run(f"cvt.{name} %d, %r, %r;", {"%a": ("u32", np.zeros(4, np.uint32))}, {"%a": "u32"}, declare=declare)
