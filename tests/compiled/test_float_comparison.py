"""Comparison and selection of f32 and f64 in PTX, through the whole pipeline, against Python's own comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from compiled.exact import F32, F64, edges, flushed
from compiled.snippet import run

from gpukit.errors import KernelSyntaxError, UnsupportedFeature
from gpukit.machine.frontends.ptx.syntax import TYPES

FORMATS = {"f32": F32, "f64": F64}
ORDERED: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a < b or a > b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def unordered(a: float, b: float) -> bool:
    return math.isnan(a) or math.isnan(b)


WORDS: dict[str, Callable[[float, float], bool]] = {
    **ORDERED,
    **{f"{word}u": lambda a, b, test=test: unordered(a, b) or test(a, b) for word, test in ORDERED.items()},
    "num": lambda a, b: not unordered(a, b),
    "nan": unordered,
}
COMBINE: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda p, q: p and q,
    "or": lambda p, q: p or q,
    "xor": lambda p, q: p != q,
}


def pairs(kind: str) -> list[tuple[int, int, bool]]:
    """Bits of all pairs of edges and a predicate, as many as a launch takes."""
    some = edges(FORMATS[kind])
    rows = [(a, b, (i + j) % 2 == 1) for i, a in enumerate(some) for j, b in enumerate(some)]
    return rows[: len(rows) // 256 * 256]


def evaluate(body: str, kind: str, outputs: dict[str, str]) -> dict[str, list]:
    a, b, c = zip(*pairs(kind), strict=True)
    bits = f"u{TYPES[kind].itemsize}"
    inputs = {
        "%a": (kind, np.array(a, bits).view(TYPES[kind])),
        "%b": (kind, np.array(b, bits).view(TYPES[kind])),
        "%c": ("pred", np.array(c)),
    }
    return {name: values.tolist() for name, values in run(body, inputs, outputs).items()}


def numbers(kind: str, ftz: bool = False) -> list[tuple[float, float, bool]]:
    f = FORMATS[kind]
    through = (lambda bits: flushed(f, bits)) if ftz else (lambda bits: bits)
    return [(f.number(through(a)), f.number(through(b)), c) for a, b, c in pairs(kind)]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("word", WORDS)
def test_setp(word, kind):
    found = evaluate(f"setp.{word}.{kind} %p, %a, %b;", kind, {"%p": "pred"})["%p"]
    assert found == [WORDS[word](a, b) for a, b, _ in numbers(kind)]


@pytest.mark.parametrize("word", WORDS)
def test_setp_with_ftz_takes_subnormal_numbers_for_zeros(word):
    found = evaluate(f"setp.{word}.ftz.f32 %p, %a, %b;", "f32", {"%p": "pred"})["%p"]
    assert found == [WORDS[word](a, b) for a, b, _ in numbers("f32", ftz=True)]


@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("kind", FORMATS)
def test_setp_combines_the_comparison_and_its_opposite_with_a_predicate(kind, combine):
    both = {"%p": "pred", "%q": "pred"}
    test, join = WORDS["ltu"], COMBINE[combine]
    found = evaluate(f"setp.ltu.{combine}.{kind} %p|%q, %a, %b, %c;", kind, both)
    assert found["%p"] == [join(test(a, b), c) for a, b, c in numbers(kind)]
    assert found["%q"] == [join(not test(a, b), c) for a, b, c in numbers(kind)]
    found = evaluate(f"setp.ltu.{combine}.{kind} %p, %a, %b, !%c;", kind, {"%p": "pred"})
    assert found["%p"] == [join(test(a, b), not c) for a, b, c in numbers(kind)]


def test_setp_may_write_the_predicate_it_combines_with():
    found = evaluate("setp.lt.and.f32 %c|%q, %a, %b, %c; mov.pred %p, %c;", "f32", {"%p": "pred", "%q": "pred"})
    assert found["%p"] == [a < b and c for a, b, c in numbers("f32")]
    assert found["%q"] == [not a < b and c for a, b, c in numbers("f32")]


def test_setp_of_two_destinations_without_a_combination():
    found = evaluate("setp.gt.f64 %p|%q, %a, %b;", "f64", {"%p": "pred", "%q": "pred"})
    assert found["%p"] == [a > b for a, b, _ in numbers("f64")]
    assert found["%q"] == [not a > b for a, b, _ in numbers("f64")]


@pytest.mark.parametrize("kind", FORMATS)
def test_set_gives_one_or_all_bits(kind):
    found = evaluate(
        f"set.le.u32.{kind} %u, %a, %b; set.geu.s32.{kind} %i, %a, %b; set.neu.xor.f32.{kind} %d, %a, %b, %c;",
        kind,
        {"%u": "u32", "%i": "s32", "%d": "f32"},
    )
    rows = numbers(kind)
    assert found["%u"] == [0xFFFFFFFF * (a <= b) for a, b, _ in rows]
    assert found["%i"] == [-1 * WORDS["geu"](a, b) for a, b, _ in rows]
    assert found["%d"] == [1.0 * (WORDS["neu"](a, b) != c) for a, b, c in rows]


def test_set_with_ftz():
    found = evaluate("set.eq.ftz.u32.f32 %u, %a, %b;", "f32", {"%u": "u32"})["%u"]
    assert found == [0xFFFFFFFF * (a == b) for a, b, _ in numbers("f32", ftz=True)]


@pytest.mark.parametrize("kind", FORMATS)
def test_selp_keeps_every_bit(kind):
    letter = {"f32": "b32", "f64": "b64"}[kind]
    found = evaluate(f"selp.{kind} %x, %a, %b, %c; mov.{letter} %d, %x;", kind, {"%x": kind, "%d": letter})["%d"]
    assert found == [a if c else b for a, b, c in pairs(kind)]


@pytest.mark.parametrize("ftz", ["", ".ftz"])
def test_slct_selects_by_sign(ftz):
    body = f"""
        .reg .b64 %one, %two;
        mov.b64 %one, 0x123456789abcdef0;
        mov.b64 %two, -1;
        slct{ftz}.f32.f32 %d, 0f40000000, %b, %a;
        slct{ftz}.u64.f32 %w, %one, %two, %a;
    """
    found = evaluate(body, "f32", {"%d": "b32", "%w": "u64"})
    first = [a >= 0 for a, _, _ in numbers("f32", ftz=bool(ftz))]
    assert found["%d"] == [0x40000000 if x else b for x, (_, b, _) in zip(first, pairs("f32"), strict=True)]
    assert found["%w"] == [0x123456789ABCDEF0 if x else 2**64 - 1 for x in first]


@pytest.mark.parametrize("kind", FORMATS)
def test_testp(kind):
    f = FORMATS[kind]
    smallest = float(f.value(1 << f.mantissa))
    tests: dict[str, Callable[[float], bool]] = {
        "finite": math.isfinite,
        "infinite": math.isinf,
        "number": lambda x: not math.isnan(x),
        "notanumber": math.isnan,
        "normal": lambda x: math.isfinite(x) and (abs(x) >= smallest or x == 0),
        "subnormal": lambda x: 0 < abs(x) < smallest,
    }
    for word, test in tests.items():
        found = evaluate(f"testp.{word}.{kind} %p, %a;", kind, {"%p": "pred"})["%p"]
        assert found == [test(a) for a, _, _ in numbers(kind)], word


@pytest.mark.parametrize(
    "instruction",
    [
        "setp.lo.f32 %p, %a, %b",
        "setp.lt.ftz.f64 %p, %x, %x",
        "setp.lt.and.or.f32 %p, %a, %b, %c",
        "setp.lt.and.f32 %p, %a, %b",
        "setp.f32 %p, %a, %b",
        "set.lt.u64.f32 %p, %a, %b",
        "selp.ftz.f32 %a, %a, %b, %c",
        "slct.f32.f64 %a, %a, %b, %x",
        "testp.f32 %p, %a",
        "testp.zero.f32 %p, %a",
    ],
)
def test_what_is_not_known_is_refused_by_name(instruction):
    inputs = {"%a": ("f32", np.zeros(2, np.float32)), "%b": ("f32", np.zeros(2, np.float32))}
    inputs |= {"%x": ("f64", np.zeros(2)), "%c": ("pred", np.zeros(2, bool))}
    with pytest.raises((KernelSyntaxError, UnsupportedFeature), match=instruction.split()[0].replace(".", r"\.")):
        run(f"{instruction};", inputs, {"%p": "pred"})
