"""Logic, shifts, bit fields, comparison and selection of PTX against Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.integers import LANES, LITERAL, Case, bits, case, check, corners, examples, limits, signed, values
from compiled.snippet import run
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit.errors import KernelSyntaxError, UnsupportedFeature
from gpukit.machine.frontends.ptx.instructions.truth_table import expressions

ALL = 0xFFFFFFFF
AMOUNT = st.integers(0, 70) | st.sampled_from([127, 128, 255, 256, 257, 287, 1 << 16, (1 << 16) + 3, 1 << 31, ALL])

CASES: list[Case] = []

for T in ("b16", "b32", "b64", "pred"):
    CASES += [
        case(f"and.{T}", T, f"{T} {T}", lambda a, b: a & b),
        case(f"or.{T}", T, f"{T} {T}", lambda a, b: a | b),
        case(f"xor.{T}", T, f"{T} {T}", lambda a, b: a ^ b),
        case(f"not.{T}", T, T, lambda a: ~a),
    ]
    if T != "pred":
        CASES += [
            case(f"cnot.{T}", T, T, lambda a: int(a == 0)),
            case(f"shl.{T}", T, f"{T} u32", lambda a, b: a << b if b < 64 else 0, b=AMOUNT),
        ]
for T in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"):
    CASES.append(case(f"shr.{T}", T, f"{T} u32", lambda a, b: a >> min(b, 64), b=AMOUNT))


# --- functions of bits ---------------------------------------------------------------------------------------------


def funnel(direction: str, mode: str):
    def does(a: int, b: int, c: int) -> int:
        n = min(c, 32) if mode == "clamp" else c & 31
        both = b << 32 | a
        return both << n >> 32 if direction == "l" else both >> n

    return does


def select_bytes(a: int, b: int, selector: int) -> int:
    pool = [(b << 32 | a) >> 8 * k & 0xFF for k in range(8)]
    result = 0
    for place in range(4):
        pick = selector >> 4 * place & 0xF
        byte = pool[pick & 7]
        if pick & 8:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << 8 * place
    return result


BYTE_MODES = ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")


def byte_mode(mode: str):
    """The special modes of prmt, as which bytes of b:a go where."""

    def does(a: int, b: int, c: int) -> int:
        pool = [(b << 32 | a) >> 8 * k & 0xFF for k in range(8)]
        n = c & 3
        picks = {
            "f4e": [n, n + 1, n + 2, n + 3],
            "b4e": [n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8],
            "rc8": [n] * 4,
            "ecl": [max(n, k) for k in range(4)],
            "ecr": [min(n, k) for k in range(4)],
            "rc16": [2 * (n & 1), 2 * (n & 1) + 1] * 2,
        }[mode]
        return sum(pool[pick] << 8 * k for k, pick in enumerate(picks))

    return does


def extract(kind: str):
    top = bits(kind) - 1

    def does(a: int, b: int, c: int) -> int:
        start, length = b & 0xFF, c & 0xFF
        sign = 0 if kind[0] == "u" or length == 0 else a >> min(start + length - 1, top) & 1
        return sum(((a >> start + i & 1) if i < length and start + i <= top else sign) << i for i in range(top + 1))

    return does


def insert(kind: str):
    top = bits(kind) - 1

    def does(a: int, b: int, c: int, d: int) -> int:
        start, length = c & 0xFF, d & 0xFF
        for i in range(length):
            if start + i <= top:
                b = b & ~(1 << start + i) | (a >> i & 1) << start + i
        return b

    return does


def leading(kind: str, distance: bool):
    top = bits(kind) - 1

    def does(a: int) -> int:
        if a < 0:
            a = ~a
        if a == 0:
            return ALL
        return top - (a.bit_length() - 1) if distance else a.bit_length() - 1

    return does


def nth_set(mask: int, base: int, offset: int) -> int:
    if base > 31:
        return ALL
    if offset == 0:
        return base if mask >> base & 1 else ALL
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [place for place in places if mask >> place & 1]
    return found[abs(offset) - 1] if abs(offset) <= len(found) else ALL


def field_mask(mode: str):
    def does(a: int, b: int) -> int:
        start, width = (a & 31, b & 31) if mode == "wrap" else (a, b)
        return sum(1 << place for place in range(start, min(start + width, 32)))

    return does


def extension(mode: str, kind: str):
    def does(a: int, b: int) -> int:
        width = b & 31 if mode == "wrap" else min(b, 32)
        if width == 0:
            return 0
        return signed(a, width) if kind == "s32" else a & (1 << width) - 1

    return does


for direction in "lr":
    for mode in ("wrap", "clamp"):
        CASES.append(case(f"shf.{direction}.{mode}.b32", "b32", "b32 b32 u32", funnel(direction, mode), c=AMOUNT))

SELECTORS = st.integers(0, 0xFFFF) | st.sampled_from([0x3210, 0x0123, 0x5410, 0x7632, 0x7654, 0x4321, 0x1100, 0xBA98])
CASES += [
    case("prmt.b32", "b32", "b32 b32 b32", select_bytes, c=SELECTORS | st.integers(0, ALL)),
    *(case(f"prmt.b32.{mode}", "b32", "b32 b32 b32", byte_mode(mode)) for mode in BYTE_MODES),
    case("fns.b32", "b32", "b32 b32 s32", nth_set, b=st.integers(0, 31), c=st.integers(-33, 33) | values("s32")),
]
for T in ("b32", "b64"):
    width = bits(T)
    CASES += [
        case(f"popc.{T}", "u32", T, int.bit_count),
        case(f"clz.{T}", "u32", T, lambda a, width=width: width - a.bit_length()),
        case(f"brev.{T}", T, T, lambda a, width=width: int(f"{a:0{width}b}"[::-1], 2)),
        case(f"bfi.{T}", T, f"{T} {T} u32 u32", insert(T), c=AMOUNT, d=AMOUNT),
    ]
for T in ("u32", "s32", "u64", "s64"):
    CASES += [
        case(f"bfe.{T}", T, f"{T} u32 u32", extract(T), b=AMOUNT, c=AMOUNT),
        case(f"bfind.{T}", "u32", T, leading(T, False)),
        case(f"bfind.shiftamt.{T}", "u32", T, leading(T, True)),
    ]
for mode in ("clamp", "wrap"):
    CASES += [
        case(f"bmsk.{mode}.b32", "b32", "u32 u32", field_mask(mode), a=AMOUNT, b=AMOUNT),
        case(f"szext.{mode}.u32", "u32", "u32 u32", extension(mode, "u32"), b=AMOUNT),
        case(f"szext.{mode}.s32", "s32", "s32 u32", extension(mode, "s32"), b=AMOUNT),
    ]

# --- comparison and selection ---------------------------------------------------------------------------------------

COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
COMPARE |= {"lo": COMPARE["lt"], "ls": COMPARE["le"], "hi": COMPARE["gt"], "hs": COMPARE["ge"]}
COMBINE = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def compared(kind: str) -> list[str]:
    words = list(COMPARE)
    return words[:2] if kind[0] == "b" else words[:6] if kind[0] == "s" else words


for T in ("b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64"):
    two = f"{T} {T}"
    # Equal operands would be rare.
    near = st.integers(*limits(T)) | st.sampled_from([0, 1, 2, 3])
    for word in compared(T):
        holds = COMPARE[word]
        CASES.append(case(f"setp.{word}.{T}", "pred", two, lambda a, b, f=holds: int(f(a, b)), a=near, b=near))
    word = compared(T)[-1]
    holds = COMPARE[word]
    CASES += [
        case(
            f"setp.{word}.{T}", "pred pred", two, lambda a, b, f=holds: (int(f(a, b)), int(not f(a, b))), a=near, b=near
        ),
        case(f"selp.{T}", T, f"{two} pred", lambda a, b, p: a if p else b),
        case(f"slct.{T}.s32", T, f"{two} s32", lambda a, b, c: a if c >= 0 else b),
        case(f"set.{word}.u32.{T}", "u32", two, lambda a, b, f=holds: -int(f(a, b)), a=near, b=near),
        case(f"set.{word}.s32.{T}", "s32", two, lambda a, b, f=holds: -int(f(a, b)), a=near, b=near),
        case(f"set.{word}.f32.{T}", "b32", two, lambda a, b, f=holds: 0x3F800000 * int(f(a, b)), a=near, b=near),
    ]
for word, join in COMBINE.items():
    CASES += [
        case(f"setp.lt.{word}.s32", "pred", "s32 s32 pred", lambda a, b, c, f=join: f(int(a < b), c)),
        case(
            f"setp.hs.{word}.u64",
            "pred pred",
            "u64 u64 pred",
            lambda a, b, c, f=join: (f(int(a >= b), c), f(int(a < b), c)),
        ),
        case(f"set.ge.{word}.u32.s32", "u32", "s32 s32 pred", lambda a, b, c, f=join: -f(int(a >= b), c)),
    ]


def shown(case: Case) -> str:
    return f"{case}{' pair' if len(case.results) > 1 else ''}"


@pytest.mark.parametrize("case", CASES, ids=shown)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_instruction(case: Case, data: st.DataObject):
    check(case, *data.draw(examples(case)))


@pytest.mark.parametrize("case", CASES, ids=shown)
def test_corners(case: Case):
    check(case, [(LANES,) * len(case.operands)], corners(case))


BY_NAME = {str(case): case for case in CASES if len(case.results) == 1}
WORDS = (0x80C4A291, 0x7F3B5D6E, 0, ALL)


@pytest.mark.parametrize(
    "selector", [0x3210, 0x0123, 0x7654, 0x5410, 0x7632, 0x6543, 0x4321, 0x0000, 0x2107, 0xBA98, 0x8888, 0xFE10, 0x3031]
)
def test_permutation_by_a_literal(selector: int):
    check(BY_NAME["prmt.b32"], [(LANES, LANES, LITERAL)], [(a, b, selector) for a in WORDS for b in WORDS])


@pytest.mark.parametrize("name", [f"shf.{direction}.{mode}.b32" for direction in "lr" for mode in ("wrap", "clamp")])
@pytest.mark.parametrize("amount", [0, 1, 13, 31, 32, 33, 64])
def test_funnel_shift_by_a_literal(name: str, amount: int):
    check(BY_NAME[name], [(LANES, LANES, LITERAL)], [(a, b, amount) for a in WORDS for b in WORDS])


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
@pytest.mark.parametrize(
    "start, length", [(0, 8), (8, 8), (24, 8), (5, 0), (3, 29), (30, 7), (31, 1), (40, 3), (70, 9)]
)
def test_field_of_literal_position(kind: str, start: int, length: int):
    low, high = limits(kind)
    rows = [(low + (word * 0x100000001 & high - low), start, length) for word in WORDS]
    check(BY_NAME[f"bfe.{kind}"], [(LANES, LITERAL, LITERAL)], rows)
    insert = BY_NAME[f"bfi.b{bits(kind)}"]
    width = (1 << bits(kind)) - 1
    check(insert, [(LANES, LANES, LITERAL, LITERAL)], [(a & width, ~a >> 3 & width, *rest) for a, *rest in rows])


# --- what only some operands show ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["b16", "b32", "b64"])
@pytest.mark.parametrize("a, b", [(1, 0), (0, 1), (7, 0), (0, 0), (5, 9), (1, 1)])
def test_selection_of_literals(kind: str, a: int, b: int):
    select = case(f"selp.{kind}", kind, f"{kind} {kind} pred", lambda a, b, p: a if p else b)
    check(select, [(LITERAL, LITERAL, LANES)], [(a, b, 0), (a, b, 1)])


def test_selection_of_floats_by_sign():
    a, b = np.array([1.5, -2.5, np.inf], np.float32), np.array([0.5, np.nan, 4], np.float32)
    sign = np.array([0, -1, -(1 << 31)], np.int32)
    inputs = {"%a": ("f32", a), "%b": ("f32", b), "%c": ("s32", sign)}
    got = run("slct.f32.s32 %d, %a, %b, %c;\nslct.f32.s32 %e, %a, 0f40490FDB, %c;", inputs, {"%d": "f32", "%e": "f32"})
    np.testing.assert_array_equal(got["%d"], np.where(sign >= 0, a, b))
    np.testing.assert_array_equal(got["%e"], np.where(sign >= 0, a, np.float32(np.pi)))


def test_a_predicate_combined_with_itself():
    """p is read before either result is written."""
    a = np.array([1, 1, -1, -1], np.int32)
    p = np.array([True, False, True, False])
    got = run("setp.lt.and.s32 %p|%q, %a, 0, %p;", {"%a": ("s32", a), "%p": ("pred", p)}, {"%p": "pred", "%q": "pred"})
    assert got["%p"].tolist() == [False, False, True, False]
    assert got["%q"].tolist() == [True, False, False, False]


def test_a_negated_predicate():
    a = np.array([1, 1, -1, -1], np.int32)
    p = np.array([True, False, True, False])
    got = run("setp.lt.or.s32 %q, %a, 0, !%p;", {"%a": ("s32", a), "%p": ("pred", p)}, {"%q": "pred"})
    assert got["%q"].tolist() == [False, True, True, True]


# --- lop3 ----------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(table=st.integers(0, 255), data=st.data())
def test_every_function_of_three(table: int, data: st.DataObject):
    def does(a: int, b: int, c: int) -> int:
        return sum((table >> (a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) & 1) << i for i in range(32))

    ways, rows = data.draw(examples(case("lop3.b32", "b32", "b32 b32 b32", does)))
    lop3 = case("lop3.b32", "b32", "b32 b32 b32 b32", lambda a, b, c, _: does(a, b, c))
    check(lop3, [(*way, LITERAL) for way in ways], [(*row, table) for row in rows])


def test_expressions_of_three_are_right_and_short():
    found = expressions()
    assert sorted(found) == list(range(1, 255))
    for table, expression in found.items():
        assert eval(expression, {"a": 0xF0, "b": 0xCC, "c": 0xAA}) & 255 == table
    operators = {table: sum(expression.count(sign) for sign in "&|^~") for table, expression in found.items()}
    assert operators[0x96] == 2  # a ^ b ^ c
    assert operators[0xCA] == 3  # a ? b : c
    assert operators[0xE8] <= 4  # the majority
    assert operators[0xF0] == 0
    assert operators[0x3F] == 2  # ~(a & b)


@pytest.mark.parametrize("word, join", [("or", lambda x, y: x | y), ("and", lambda x, y: x & y)])
def test_lop3_with_a_predicate(word: str, join):
    a = np.array([1, 2, 1, 2], np.uint32)
    q = np.array([True, True, False, False])
    body = f"lop3.{word}.b32 %d|%p, %a, 2, 0, 0xc0, %q;\nlop3.{word}.b32 _|%r, %a, 2, 0, 0xc0, %q;"
    inputs = {"%a": ("b32", a), "%q": ("pred", q)}
    got = run(body, inputs, {"%d": "b32", "%p": "pred", "%r": "pred"})
    assert got["%d"].tolist() == [0, 2, 0, 2]
    assert got["%p"].tolist() == got["%r"].tolist() == join(a == 2, q).tolist()


# --- what is not there ---------------------------------------------------------------------------------------------

REFUSED = {
    "and.u32 %d, %a, %b;": "and.u32",
    "shl.s32 %d, %a, 1;": "shl.s32",
    "shf.l.b32 %d, %a, %b, 1;": "shf.l.b32",
    "shf.l.wrap.b64 %d, %a, %b, 1;": "shf.l.wrap.b64",
    "lop3.b32 %d, %a, %b, %a, 256;": "truth table",
    "lop3.b32 %d, %a, %b, %a, %b;": "truth table",
    "prmt.b32.f4e.ecl %d, %a, %b, %a;": "prmt.b32.f4e.ecl",
    "bfe.b32 %d, %a, %b, %a;": "bfe.b32",
    "bmsk.b32 %d, %a, %b;": "bmsk.b32",
    "setp.lo.s32 %p, %a, %b;": r"`\.lo` in `setp\.lo\.s32`",
    "setp.lt.b32 %p, %a, %b;": r"`\.lt` in `setp\.lt\.b32`",
    "setp.s32 %p, %a, %b;": "setp.s32",
    "setp.eq.and.or.s32 %p, %a, %b, %p;": "setp.eq.and.or.s32",
    "set.eq.u16.s32 %d, %a, %b;": "set.eq.u16.s32",
    "slct.b32.u32 %d, %a, %b, %a;": "slct.b32.u32",
    "popc.b32 %d;": "needs 2 operands, 1 are given",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused_by_name(body: str):
    one = np.zeros(1, np.uint32)
    inputs = {"%a": ("u32", one), "%b": ("u32", one), "%p": ("pred", np.zeros(1, bool))}
    with pytest.raises((KernelSyntaxError, UnsupportedFeature), match=REFUSED[body]):
        run(body, inputs, {"%d": "u32"})
