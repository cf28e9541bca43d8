"""Integer arithmetic of PTX against Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.integers import LANES, LITERAL, Case, bits, case, check, corners, examples, limits, signed
from compiled.launches import per_thread
from compiled.snippet import run
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit.errors import KernelSyntaxError, UnsupportedFeature

PLAIN = ("u16", "s16", "u32", "s32", "u64", "s64")
DOUBLE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def clamp(value: int, kind: str = "s32") -> int:
    low, high = limits(kind)
    return min(max(value, low), high)


def quotient(a: int, b: int) -> int:
    """Toward zero; 0 when divided by 0."""
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a - quotient(a, b) * b


def low_24(value: int, kind: str) -> int:
    return signed(value, 24) if kind == "s32" else value & 0xFFFFFF


def part(value: int, index: int, kind: str) -> int:
    """One of the bytes ("s8", "u8") or halves ("s16", "u16") of a value."""
    field = value >> bits(kind) * index & (1 << bits(kind)) - 1
    return signed(field, bits(kind)) if kind[0] == "s" else field


def join(parts: list[int], width: int) -> int:
    return sum((value & (1 << width) - 1) << width * k for k, value in enumerate(parts))


def halves(kind: str, function):
    """An operation on the halves of packed values."""
    return lambda a, b: join([function(part(a, k, kind), part(b, k, kind)) for k in (0, 1)], 16)


CASES: list[Case] = []

for T in PLAIN:
    width = bits(T)
    two, three = f"{T} {T}", f"{T} {T} {T}"
    CASES += [
        case(f"add.{T}", T, two, lambda a, b: a + b),
        case(f"sub.{T}", T, two, lambda a, b: a - b),
        case(f"mul.lo.{T}", T, two, lambda a, b: a * b),
        case(f"mul.hi.{T}", T, two, lambda a, b, w=width: a * b >> w),
        case(f"mad.lo.{T}", T, three, lambda a, b, c: a * b + c),
        case(f"mad.hi.{T}", T, three, lambda a, b, c, w=width: (a * b >> w) + c),
        case(f"sad.{T}", T, three, lambda a, b, c: abs(a - b) + c),
        case(f"div.{T}", T, two, quotient),
        case(f"rem.{T}", T, two, remainder),
        case(f"min.{T}", T, two, min),
        case(f"max.{T}", T, two, max),
    ]
    if T in DOUBLE:
        CASES += [
            case(f"mul.wide.{T}", DOUBLE[T], two, lambda a, b: a * b),
            case(f"mad.wide.{T}", DOUBLE[T], f"{two} {DOUBLE[T]}", lambda a, b, c: a * b + c),
        ]
    if T.startswith("s"):
        CASES += [case(f"abs.{T}", T, T, abs), case(f"neg.{T}", T, T, lambda a: -a)]

for T in ("u32", "s32"):
    two = f"{T} {T}"
    for name, shift in (("lo", 0), ("hi", 16)):
        CASES += [
            case(f"mul24.{name}.{T}", T, two, lambda a, b, T=T, n=shift: low_24(a, T) * low_24(b, T) >> n),
            case(
                f"mad24.{name}.{T}",
                T,
                f"{two} {T}",
                lambda a, b, c, T=T, n=shift: signed(low_24(a, T) * low_24(b, T) >> n, 32) + c,
            ),
        ]

CASES += [
    case("add.sat.s32", "s32", "s32 s32", lambda a, b: clamp(a + b)),
    case("sub.sat.s32", "s32", "s32 s32", lambda a, b: clamp(a - b)),
    case("mad.hi.sat.s32", "s32", "s32 s32 s32", lambda a, b, c: clamp((a * b >> 32) + c)),
    case(
        "mad24.hi.sat.s32",
        "s32",
        "s32 s32 s32",
        lambda a, b, c: clamp(signed(low_24(a, "s32") * low_24(b, "s32") >> 16, 32) + c),
    ),
    case("min.relu.s32", "s32", "s32 s32", lambda a, b: max(0, min(a, b))),
    case("max.s32.relu", "s32", "s32 s32", lambda a, b: max(0, a, b)),
    case("add.u16x2", "u16x2", "u16x2 u16x2", halves("u16", lambda a, b: a + b)),
    case("add.s16x2", "s16x2", "s16x2 s16x2", halves("s16", lambda a, b: a + b)),
    case("min.u16x2", "u16x2", "u16x2 u16x2", halves("u16", min)),
    case("max.u16x2", "u16x2", "u16x2 u16x2", halves("u16", max)),
    case("min.s16x2", "s16x2", "s16x2 s16x2", halves("s16", min)),
    case("max.s16x2", "s16x2", "s16x2 s16x2", halves("s16", max)),
    case("min.s16x2.relu", "s16x2", "s16x2 s16x2", halves("s16", lambda a, b: max(0, min(a, b)))),
    case("max.relu.s16x2", "s16x2", "s16x2 s16x2", halves("s16", lambda a, b: max(0, a, b))),
]

for A in "us":
    for B in "us":
        CASES.append(
            case(
                f"dp4a.{A}32.{B}32",
                "b32",
                "b32 b32 b32",
                lambda a, b, c, A=A, B=B: c + sum(part(a, k, f"{A}8") * part(b, k, f"{B}8") for k in range(4)),
            )
        )
        for name, first in (("lo", 0), ("hi", 2)):
            CASES.append(
                case(
                    f"dp2a.{name}.{A}32.{B}32",
                    "b32",
                    "b32 b32 b32",
                    lambda a, b, c, A=A, B=B, first=first: (
                        c + sum(part(a, k, f"{A}16") * part(b, first + k, f"{B}8") for k in range(2))
                    ),
                )
            )

VIDEO = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}


def video(name: str, count: int, types: str, after: str) -> Case:
    to, left, right = (f"{T}{32 // count}" for T in types)

    def parts(a: int, b: int) -> list[int]:
        return [VIDEO[name](part(a, k, left), part(b, k, right)) for k in range(count)]

    does = {
        "": lambda a, b, c: join(parts(a, b), 32 // count),
        ".sat": lambda a, b, c: join([clamp(value, to) for value in parts(a, b)], 32 // count),
        ".add": lambda a, b, c: c + sum(parts(a, b)),
    }[after]
    return case(f"{name}{count}." + ".".join(f"{T}32" for T in types) + after, "b32", "b32 b32 b32", does)


CASES += [video(name, count, "uuu", after) for name in VIDEO for count in (2, 4) for after in ("", ".sat")]
CASES += [video("vabsdiff", count, types, ".add") for count in (2, 4) for types in ("uuu", "uss")]
CASES += [video("vsub", 4, "sus", ".sat"), video("vmax", 2, "ssu", ""), video("vadd", 4, "sss", ".add")]


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_instruction(case: Case, data: st.DataObject):
    check(case, *data.draw(examples(case)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_corners(case: Case):
    check(case, [(LANES,) * len(case.operands)], corners(case))


@pytest.mark.parametrize("name, does", [("div", quotient), ("rem", remainder)])
@pytest.mark.parametrize("kind", PLAIN)
def test_division_by_a_literal(name: str, does, kind: str):
    low, high = limits(kind)
    edges = [v for v in (low, low + 1, -9, -8, -7, -2, -1, 0, 1, 2, 7, 8, 9, high - 1, high) if v >= low]
    for divisor in (0, 1, 2, 8, 1 << 14, 3, 10, -1, -2, -8, -7, low, high):
        if divisor >= low:
            divide = case(f"{name}.{kind}", kind, f"{kind} {kind}", does)
            check(divide, [(LANES, LITERAL)], [(v, divisor) for v in edges])


def test_division_by_zero_is_reported():
    x, out = np.array([8, 0, 2, 0], np.int32), np.zeros(4, np.int32)
    done = per_thread("ld.global.u32 %r1, [%q3]; rem.s32 %r2, 7, %r1; st.global.u32 [%q4], %r2;", x, out)
    assert done.kinds == ["division_by_zero"]
    assert [h.count for h in done.hazards if h.kind == "division_by_zero"] == [2]
    assert out.tolist() == [7, 7, 1, 7]


def test_lanes_that_the_guard_leaves_out_do_not_divide():
    x, out = np.array([8, 0, -2, 0], np.int32), np.zeros(4, np.int32)
    done = per_thread(
        """ld.global.u32 %r1, [%q3];
        setp.ne.s32 %p1, %r1, 0;
        mov.u32 %r2, 5;
        @%p1 div.s32 %r2, 16, %r1;
        st.global.u32 [%q4], %r2;""",
        x,
        out,
    )
    assert done.kinds == []
    assert out.tolist() == [2, 5, -8, 5]


# --- carry chains --------------------------------------------------------------------------------------------------

BIG = st.sampled_from([0, 1, (1 << 128) - 1, 1 << 127, (1 << 64) - 1, 1 << 64]) | st.integers(0, (1 << 128) - 1)


def words(numbers: list[int], width: int, letter: str) -> dict[str, tuple[str, np.ndarray]]:
    """The words of 128-bit numbers, one register for each, lowest first."""
    kind = np.dtype(f"u{width // 8}")
    return {
        f"%{letter}{k}": (f"u{width}", np.array([n >> width * k & (1 << width) - 1 for n in numbers], kind))
        for k in range(128 // width)
    }


def numbers(got: dict[str, np.ndarray], width: int, letter: str) -> list[int]:
    """The opposite of words."""
    columns = [got[f"%{letter}{k}"] for k in range(128 // width)]
    return [sum(int(column[i]) << width * k for k, column in enumerate(columns)) for i in range(len(columns[0]))]


def chain(opcode: str, width: int, kind: str) -> str:
    """128-bit a and b to d: the lowest word starts the chain, the highest ends it."""
    last = 128 // width - 1
    text = ""
    for k in range(last + 1):
        name = f"{opcode}{'c' if k else ''}{'.cc' if k < last else ''}.{kind}{width}"
        text += f"{name} %d{k}, %a{k}, %b{k};\n"
    return text


@pytest.mark.parametrize("kind", "us")
@pytest.mark.parametrize("width", [32, 64])
@settings(max_examples=15, deadline=None)
@given(rows=st.lists(st.tuples(BIG, BIG), min_size=1, max_size=20))
def test_sum_and_difference_of_128_bits(width: int, kind: str, rows: list[tuple[int, int]]):
    left, right = [a for a, _ in rows], [b for _, b in rows]
    inputs = words(left, width, "a") | words(right, width, "b")
    outputs = {f"%d{k}": f"u{width}" for k in range(128 // width)}
    for opcode, sign in (("add", 1), ("sub", -1)):
        got = run(chain(opcode, width, kind), inputs, outputs)
        assert numbers(got, width, "d") == [(a + sign * b) % (1 << 128) for a, b in rows]


@settings(max_examples=15, deadline=None)
@given(rows=st.lists(st.tuples(BIG, BIG), min_size=1, max_size=20))
def test_product_of_128_bits(rows: list[tuple[int, int]]):
    """64 x 64 bits in words of 32 with mad.cc and madc, as big-number code does it; both in place."""
    inputs = words([a for a, _ in rows], 32, "a") | words([b for _, b in rows], 32, "b")
    body = """
        mul.lo.u32      %d0, %a0, %b0;
        mul.hi.u32      %d1, %a0, %b0;
        mad.lo.cc.u32   %d1, %a0, %b1, %d1;
        madc.hi.u32     %d2, %a0, %b1, 0;
        mad.lo.cc.u32   %d1, %a1, %b0, %d1;
        madc.hi.cc.u32  %d2, %a1, %b0, %d2;
        addc.u32        %d3, 0, 0;
        mad.lo.cc.u32   %d2, %a1, %b1, %d2;
        madc.hi.u32     %d3, %a1, %b1, %d3;
    """
    got = run(body, inputs, {f"%d{k}": "u32" for k in range(4)})
    low = (1 << 64) - 1
    assert numbers(got, 32, "d") == [(a & low) * (b & low) for a, b in rows]


def test_a_guarded_sum_leaves_the_carry_of_the_other_lanes():
    body = """
        add.cc.u32 %d, %a, 1;
        @%p add.cc.u32 %d, 0, 0;
        addc.u32 %c, 0, 0;
    """
    a = np.array([0xFFFFFFFF, 0xFFFFFFFF, 5, 5], np.uint32)
    got = run(
        body, {"%a": ("u32", a), "%p": ("pred", np.array([True, False, True, False]))}, {"%d": "u32", "%c": "u32"}
    )
    assert got["%c"].tolist() == [0, 1, 0, 0]
    assert got["%d"].tolist() == [0, 0, 0, 6]


def test_addc_reads_a_borrow_as_no_carry():
    """As NVRTC's division of 128-bit integers expects."""
    body = """
        sub.cc.u32 %d, %a, %b;
        addc.u32 %c, 0, 0;
        sub.cc.u32 %d, %a, %b;
        subc.cc.u32 %d, %a, %b;
        subc.u32 %e, 0, 0;
    """
    a, b = np.array([5, 4, 3, 0], np.uint32), np.array([4, 4, 4, 0xFFFFFFFF], np.uint32)
    got = run(body, {"%a": ("u32", a), "%b": ("u32", b)}, {"%d": "u32", "%c": "u32", "%e": "s32"})
    assert got["%c"].tolist() == [1, 1, 0, 0]
    assert got["%d"].tolist() == [1, 0, 0xFFFFFFFE, 0]
    assert got["%e"].tolist() == [0, 0, -1, -1]


def test_the_carry_outlives_a_branch():
    body = """
        add.cc.u32 %d, %a, %a;
        setp.eq.u32 %q, %a, 0;
        @%q bra DONE;
        add.u32 %d, %d, 1;
    DONE:
        addc.u32 %c, 0, 0;
    """
    a = np.array([0, 1, 0x80000000, 0xFFFFFFFF], np.uint32)
    got = run(body, {"%a": ("u32", a)}, {"%d": "u32", "%c": "u32"}, declare=".reg .pred %q;")
    assert got["%c"].tolist() == [0, 0, 1, 1]
    assert got["%d"].tolist() == [0, 3, 1, 0xFFFFFFFF]


def test_a_carry_nobody_set_is_clear():
    got = run("addc.u32 %d, %a, 1;", {"%a": ("u32", np.arange(3, dtype=np.uint32))}, {"%d": "u32"})
    assert got["%d"].tolist() == [1, 2, 3]


# --- what is not there ---------------------------------------------------------------------------------------------

REFUSED = {
    "add.sat.u32 %d, %a, %b;": "add.sat.u32",
    "add.rn.s32 %d, %a, %b;": r"`\.rn` in `add\.rn\.s32`",
    "add.b32 %d, %a, %b;": "add.b32",
    "sub.u16x2 %d, %a, %b;": "sub.u16x2",
    "mul.u32 %d, %a, %b;": "mul.u32",
    "mad.lo.sat.s32 %d, %a, %b, %a;": "mad.lo.sat.s32",
    "mad.wide.cc.u32 %d, %a, %b, %a;": "mad.wide.cc.u32",
    "add.cc.u16 %d, %a, %b;": "add.cc.u16",
    "min.relu.u32 %d, %a, %b;": "min.relu.u32",
    "mul24.wide.u32 %d, %a, %b;": "mul24",
    "dp2a.s32.s32 %d, %a, %b, %a;": "dp2a.s32.s32",
    "vavrg4.u32.u32.u32 %d, %a, %b, %a;": "vavrg4",
    "vadd4.u32.u32.u32.sat.add %d, %a, %b, %a;": "vadd4",
    "add.u32 %d, %a;": "needs 3 operands, 2 are given",
    "neg.s32 ;": "needs 2 operands, 0 are given",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused_by_name(body: str):
    one = np.zeros(1, np.uint32)
    with pytest.raises((KernelSyntaxError, UnsupportedFeature), match=REFUSED[body]):
        run(body, {"%a": ("u32", one), "%b": ("u32", one)}, {"%d": "u32"})
