"""The model of what the assembler still changes: which requests it makes of loads and stores, which loops it unrolls,
which products it adds in one step. Every expectation here was read off ptxas (data/probes/sass_agreement.py)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from compiled.launches import HEAD, kernel, launch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit.machine.frontends.ptx.assembler import assemble
from gpukit.machine.frontends.ptx.assembler.contraction import contract
from gpukit.machine.frontends.ptx.assembler.flow import Flow
from gpukit.machine.frontends.ptx.assembler.unrolling import unroll
from gpukit.machine.frontends.ptx.parser import parse
from gpukit.machine.frontends.ptx.storage import Storage
from gpukit.machine.frontends.ptx.syntax import SIZES, Function, Instruction, Request, Vector

REGISTERS = (
    ".reg .pred %p<9>; .reg .b16 %h<40>; .reg .b32 %r<99>; .reg .b64 %q<40>; .reg .f32 %f<99>; .reg .f64 %d<40>;"
)
STATIC = ".shared .align 4 .b8 s[4096];"


def function(body: str, declare: str = STATIC) -> tuple[Function, dict[str, int]]:
    """A kernel and where its shared variables lie. %r0 is the thread, %r9 = s + 16 * thread, %q0 an address."""
    text = f"""{HEAD}.visible .entry k(.param .u64 a0, .param .u32 a1) {{ {REGISTERS} {declare}
        ld.param.u64 %q0, [a0]; ld.param.u32 %r1, [a1]; mov.u32 %r0, %tid.x; mov.u32 %r8, s; shl.b32 %r7, %r0, 4;
        add.s32 %r9, %r8, %r7; {body} ret; }}"""
    made = parse(text).functions["k"]
    storage = Storage()
    storage.lay_out_shared(v for v in made.variables if v.space == "shared")
    return made, storage.shared


def instructions(made: Function, *opcodes: str) -> Iterator[Instruction]:
    assert made.body is not None
    for statement in made.body:
        if isinstance(statement, Instruction) and statement.opcode in opcodes and not statement.has("param"):
            yield statement


def requests(body: str, space: str = "shared", way: str = "ld", declare: str = STATIC) -> list[tuple[int, ...]]:
    """For each load or store of a space, in order: the bytes of each of its requests, as the assembler leaves it."""
    made = assemble(*function(body, declare))
    found = []
    for inst in instructions(made, way):
        if inst.has(space):
            operand = inst.operands[0 if way == "ld" else 1]
            written = SIZES[inst.type] * (len(operand.items) if isinstance(operand, Vector) else 1)
            made_of = (Request(0, written),) if inst.requests is None else inst.requests
            found.append(tuple(request.nbytes for request in made_of))
    return found


def loads(offsets: list[int], base: str = "%r9", kind: str = "f32", register: str = "%f") -> str:
    """Scalar loads into %f0, %f1, ... that somebody uses."""
    text = "".join(f"ld.shared.{kind} {register}{i}, [{base}+{offset}]; " for i, offset in enumerate(offsets))
    return text + uses(len(offsets), kind, register)


def uses(count: int, kind: str = "f32", register: str = "%f") -> str:
    return "".join(f"st.global.{kind} [%q0+{64 * i}], {register}{i}; " for i in range(count))


# --- neighbouring loads --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ([0, 4, 8, 12], [(16,), (), (), ()]),
        ([12, 8, 4, 0], [(16,), (), (), ()]),
        ([0, 4], [(8,), ()]),
        ([8, 12], [(8,), ()]),
        ([4, 8], [(4,), (4,)]),  # no aligned pair
        ([0, 8], [(4,), (4,)]),
        ([0, 4, 8], [(16,), (), ()]),  # three of four: the fourth is fetched too
        ([4, 8, 12], [(16,), (), ()]),
        ([0, 4, 12], [(16,), (), ()]),
        ([0, 4, 8, 12, 16], [(16,), (), (), (), (4,)]),
        ([0, 4, 8, 12, 16, 20], [(16,), (), (), (), (8,), ()]),
        ([0, 0, 4], [(8,), (), ()]),  # a place that was loaded already
    ],
)
def test_neighbouring_loads_become_one(offsets, expected):
    assert requests(loads(offsets)) == expected


def test_a_request_starts_where_its_window_starts():
    made = assemble(*function(loads([12, 8, 4])))
    assert [inst.requests for inst in instructions(made, "ld")] == [(Request(-12, 16),), (), ()]


@pytest.mark.parametrize(
    ("address", "widest"),
    [
        ("add.s32 %r9, %r8, %r7;", 16),
        ("mad.lo.s32 %r9, %r0, 48, %r8;", 16),
        ("mad.lo.s32 %r9, %r0, 24, %r8;", 8),
        ("mad.lo.s32 %r9, %r0, 132, %r8;", 4),
        ("mul.lo.s32 %r5, %r7, %r1; add.s32 %r9, %r8, %r5;", 16),
        ("and.b32 %r5, %r0, -16; add.s32 %r9, %r8, %r5;", 16),
        ("and.b32 %r5, %r0, 1016; add.s32 %r9, %r8, %r5;", 8),
        ("shl.b32 %r5, %r0, 8; or.b32 %r5, %r5, %r7; add.s32 %r9, %r8, %r5;", 16),
        ("sub.s32 %r9, %r8, %r7;", 16),
        ("setp.eq.s32 %p1, %r0, 3; selp.b32 %r5, %r7, 32, %p1; add.s32 %r9, %r8, %r5;", 16),
        ("setp.eq.s32 %p1, %r0, 3; selp.b32 %r5, %r7, 36, %p1; add.s32 %r9, %r8, %r5;", 4),
        ("min.s32 %r5, %r7, 1024; add.s32 %r9, %r8, %r5;", 4),  # nothing is known of a minimum
        ("shl.b32 %r5, %r0, 8; shr.u32 %r5, %r5, 4; add.s32 %r9, %r8, %r5;", 4),  # nor of a shift to the right
        ("add.s32 %r5, %r7, 8; add.s32 %r9, %r8, %r5;", 8),  # a constant inside the sum
        ("mul.wide.u32 %q1, %r0, 16; cvt.u32.u64 %r5, %q1; add.s32 %r9, %r8, %r5;", 16),
        ("ld.global.u32 %r5, [%q0]; add.s32 %r9, %r8, %r5;", 4),
        ("mov.u32 %r9, %r1;", 4),
    ],
)
def test_the_alignment_must_be_provable(address, widest):
    made_of = {16: [(16,), (), (), ()], 8: [(8,), (), (8,), ()], 4: [(4,)] * 4}[widest]
    assert requests(address + loads([0, 4, 8, 12])) == made_of


def test_a_pointer_that_a_loop_moves_keeps_its_alignment():
    for step, expected in ((16, [(16,), (), (), ()]), (8, [(8,), (), (8,), ()]), (4, [(4,)] * 4)):
        body = f"""mov.u32 %r5, 0; L: .pragma "nounroll"; {loads([0, 4, 8, 12])} add.s32 %r9, %r9, {step};
            add.s32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, %r1; @%p1 bra L;"""
        assert requests(body) == expected


@pytest.mark.parametrize(
    ("kind", "register", "offsets", "expected"),
    [
        ("f64", "%d", [0, 8], [(16,), ()]),
        ("f64", "%d", [8, 16], [(8,), (8,)]),
        ("f64", "%d", [0, 8, 16], [(16,), (), (8,)]),
        ("u16", "%h", [0, 2], [(4,), ()]),
        ("u16", "%h", [0, 2, 4], [(8,), (), ()]),
        ("u16", "%h", [0, 2, 4, 6, 8, 10, 12, 14], [(8,), (), (), (), (8,), (), (), ()]),  # four elements at most
        ("u16", "%r3", [0, 2], [(2,), (2,)]),  # extended to 32 bits as they are loaded
        ("u8", "%h", [0, 1, 2, 3], [(1,)] * 4),
    ],
)
def test_elements_of_other_sizes(kind, register, offsets, expected):
    assert requests(loads(offsets, "%r9", kind, register)) == expected


@pytest.mark.parametrize(
    ("use", "merged"),
    [
        ("mul.lo.s16 %h3, %h0, %h1;", True),
        ("cvt.f32.f16 %f0, %h0; cvt.f32.f16 %f1, %h1;", True),
        ("cvt.s32.s16 %r3, %h0;", True),
        ("cvt.u32.u16 %r3, %h0;", False),
        ("cvt.f32.bf16 %f0, %h0;", False),
        ("add.s16 %h3, %h0, %h1;", False),
        ("setp.eq.s16 %p1, %h0, %h1;", False),
        ("setp.lt.s16 %p1, %h0, %h1;", True),
    ],
)
def test_halves_that_are_read_with_zeros_above_stay_alone(use, merged):
    assert requests(loads([0, 2], "%r9", "u16", "%h") + use) == ([(4,), ()] if merged else [(2,), (2,)])


@pytest.mark.parametrize(
    ("between", "merged"),
    [
        ("st.global.f32 [%q0], %f9;", True),
        ("shfl.sync.down.b32 %r3, %r0, 1, 31, -1; st.global.u32 [%q0], %r3;", True),
        ("atom.global.add.u32 %r3, [%q0], 1;", True),
        ("st.shared.f32 [%r9+256], %f9;", False),
        ("st.f32 [%q0], %f9;", False),
        ("atom.shared.add.u32 %r3, [%r9+256], 1;", False),
        ("bar.sync 0;", False),
        ("bar.warp.sync -1;", False),
        ("membar.cta;", False),
    ],
)
def test_what_may_stand_between(between, merged):
    body = f"ld.shared.f32 %f0, [%r9]; {between} ld.shared.f32 %f1, [%r9+4]; {uses(2)}"
    assert requests(body) == ([(8,), ()] if merged else [(4,), (4,)])


def test_volatile_loads_are_left_alone():
    body = f"ld.volatile.shared.f32 %f0, [%r9]; ld.volatile.shared.f32 %f1, [%r9+4]; {uses(2)}"
    assert requests(body) == [(4,), (4,)]
    between = f"ld.shared.f32 %f0, [%r9]; ld.volatile.shared.f32 %f2, [%r9+8]; ld.shared.f32 %f1, [%r9+4]; {uses(3)}"
    assert requests(between) == [(8,), (4,), ()]


BRANCH = "setp.lt.s32 %p1, %r0, %r1; @%p1 bra L;"


def test_a_load_serves_what_it_dominates():
    after = f"ld.shared.f32 %f0, [%r9]; {BRANCH} st.global.f32 [%q0], %f0; L: ld.shared.f32 %f1, [%r9+4]; {uses(2)}"
    assert requests(after) == [(8,), ()]
    arms = f"""ld.shared.f32 %f0, [%r9]; {BRANCH} ld.shared.f32 %f1, [%r9+4]; bra M;
        L: ld.shared.f32 %f2, [%r9+8]; M: {uses(3)}"""
    assert requests(arms) == [(16,), (), ()]


def test_a_load_serves_nothing_that_other_ways_reach():
    assert requests(f"{BRANCH} ld.shared.f32 %f0, [%r9]; L: ld.shared.f32 %f1, [%r9+4]; {uses(2)}") == [(4,), (4,)]
    siblings = f"{BRANCH} ld.shared.f32 %f0, [%r9]; bra M; L: ld.shared.f32 %f1, [%r9+4]; M: {uses(2)}"
    assert requests(siblings) == [(4,), (4,)]


def test_a_barrier_on_one_of_the_ways_ends_it():
    body = f"ld.shared.f32 %f0, [%r9]; {BRANCH} bar.sync 0; L: ld.shared.f32 %f1, [%r9+4]; {uses(2)}"
    assert requests(body) == [(4,), (4,)]


def test_a_load_does_not_serve_the_next_round():
    body = f"""L: ld.shared.f32 %f0, [%r9]; ld.shared.f32 %f1, [%r9+4]; {uses(2)} bar.sync 0;
        ld.global.u32 %r3, [%q0]; setp.ne.s32 %p1, %r3, 0; @%p1 bra L; ld.shared.f32 %f2, [%r9]; {uses(3)}"""
    assert requests(body) == [(8,), (), (4,)]


def test_addresses_that_differ_by_a_constant_are_of_one_base():
    body = (
        f"""add.s32 %r3, %r9, 4; add.s32 %r4, %r0, 1; ld.shared.f32 %f0, [%r9]; ld.shared.f32 %f1, [%r3]; {uses(2)}"""
    )
    assert requests(body) == [(8,), ()]
    scaled = f"""shl.b32 %r2, %r0, 2; add.s32 %r3, %r2, 1; shl.b32 %r3, %r3, 2; add.s32 %r3, %r8, %r3;
        ld.shared.f32 %f0, [%r9]; ld.shared.f32 %f1, [%r3]; {uses(2)}"""
    assert requests(scaled) == [(8,), ()]
    unlike = f"add.s32 %r3, %r9, %r1; ld.shared.f32 %f0, [%r9]; ld.shared.f32 %f1, [%r3+4]; {uses(2)}"
    assert requests(unlike) == [(4,), (4,)]


def test_variables_lie_where_storage_puts_them():
    two = ".shared .align 4 .b8 s[4]; .shared .align 4 .b8 t[4];"
    body = f"ld.shared.f32 %f0, [s]; ld.shared.f32 %f1, [t]; {uses(2)}"
    assert requests(body, declare=two) == [(8,), ()]
    shifted = ".shared .align 4 .b8 a[4]; .shared .align 4 .b8 s[64];"
    assert requests(loads([0, 4, 8, 12], "s"), declare=shifted) == [(16,), (), (), (4,)]


# --- vectors and unused loads --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ([0, 1, 2, 3], (16,)),
        ([0, 1, 2], (16,)),
        ([0, 1, 3], (16,)),
        ([0, 1], (8,)),
        ([2, 3], (8,)),
        ([1, 2], (4, 4)),
        ([0, 3], (4, 4)),
        ([2], (4,)),
        ([], ()),
    ],
)
@pytest.mark.parametrize("space", ["shared", "global"])
def test_vectors_of_which_a_part_is_used(space, used, expected):
    base = "%r9" if space == "shared" else "%q0"
    body = f"ld.{space}.v4.f32 {{%f0, %f1, %f2, %f3}}, [{base}];"
    body += "".join(f"st.global.f32 [%q0], %f{i};" for i in used)
    assert requests(body, space) == [expected]


def test_vectors_and_scalars_merge_and_a_vector_proves_its_alignment():
    pair = "ld.shared.v2.f32 {%f0, %f1}, [%r1]; ld.shared.f32 %f2, [%r1+8]; ld.shared.f32 %f3, [%r1+12];"
    assert requests(pair + uses(4)) == [(8,), (8,), ()]
    assert requests(pair.replace("%r1", "%r9") + uses(4)) == [(16,), (), ()]


def test_global_loads_merge_only_where_the_alignment_shows():
    scalars = "ld.global.f32 %f0, [%q1]; ld.global.f32 %f1, [%q1+4];" + uses(2)
    assert requests("mov.u64 %q1, %q0;" + scalars, "global") == [(4,), (4,)]
    assert requests("and.b64 %q1, %q0, -16;" + scalars, "global") == [(8,), ()]


# --- stores --------------------------------------------------------------------------------------------------------


def stores(offsets: list[int], base: str = "%r9") -> str:
    return "".join(f"st.shared.u32 [{base}+{offset}], %r{i};" for i, offset in enumerate(offsets))


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ([0, 4, 8, 12], [(), (), (), (16,)]),
        ([8, 0, 12, 4], [(), (), (), (16,)]),
        ([0, 4, 8], [(), (8,), (4,)]),  # unlike loads, three of four are not made one
        ([4, 8, 12], [(4,), (), (8,)]),
        ([4, 8], [(4,), (4,)]),
        ([0, 4, 8, 12, 16, 20], [(), (), (), (16,), (), (8,)]),
        ([0, 8, 4], [(), (4,), (8,)]),
        ([0, 100, 4], [(4,), (4,), (4,)]),  # another place in between
        ([0, 4, 16, 20, 8, 12], [(), (8,), (), (8,), (), (8,)]),
        ([0, 4, 4], [(), (8,), (4,)]),
    ],
)
def test_neighbouring_stores_become_one(offsets, expected):
    assert requests(stores(offsets), way="st") == expected


@pytest.mark.parametrize(
    ("between", "merged"),
    [
        ("st.global.f32 [%q0], %f9;", True),
        ("ld.global.f32 %f3, [%q0];", True),
        ("ld.shared.f32 %f3, [%r9+512]; st.global.f32 [%q0], %f3;", False),
        ("bar.sync 0;", False),
        (f"{BRANCH} st.global.f32 [%q0], %f9; L:", False),
        ("div.rn.f32 %f3, %f4, %f5;", False),  # becomes a call for rare operands
        ("div.approx.f32 %f3, %f4, %f5;", True),
        ("div.s64 %q3, %q4, %q5;", False),
    ],
)
def test_what_may_stand_between_stores(between, merged):
    body = f"st.shared.u32 [%r9], %r0; {between} st.shared.u32 [%r9+4], %r1;"
    assert requests(body, way="st") == ([(), (8,)] if merged else [(4,), (4,)])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("st.global.u32 [%q0+8], %r0; st.global.u32 [%q0+12], %r1;", [(4,), (4,)]),
        ("st.global.f64 [%q0], %d0; st.global.u32 [%q0+8], %r0; st.global.u32 [%q0+12], %r1;", [(8,), (), (8,)]),
        ("st.global.u32 [%q0+8], %r0; st.global.u32 [%q0+12], %r1; st.global.f64 [%q0], %d0;", [(), (8,), (8,)]),
        (
            f"{BRANCH} st.global.f64 [%q0], %d0; L: st.global.u32 [%q0+8], %r0; st.global.u32 [%q0+12], %r1;",
            [(8,), (4,), (4,)],
        ),
        ("and.b64 %q1, %q0, -16; st.global.u16 [%q1], %h0; st.global.u16 [%q1+2], %h1;", [(), (4,)]),
        (
            "and.b64 %q1, %q0, -16; st.global.u32 [%q1], %r0; st.shared.u32 [%r9], %r0; st.global.u32 [%q1+4], %r1;",
            [(), (8,)],
        ),
        (
            "and.b64 %q1, %q0, -16; st.global.u32 [%q1], %r0; ld.global.nc.u32 %r3, [%q0]; st.global.u32 [%q1+4], %r3;",
            [(4,), (4,)],
        ),
    ],
)
def test_global_stores_merge_where_the_alignment_shows(body, expected):
    """By the address, or by a wider access through the same base in the block or on every way to it."""
    assert requests(body, "global", "st") == expected


def test_bytes_and_volatile_stores_are_left_alone():
    assert requests("st.shared.u8 [%r9], %r0; st.shared.u8 [%r9+1], %r1;", way="st") == [(1,), (1,)]
    body = "st.volatile.shared.u32 [%r9], %r0; st.volatile.shared.u32 [%r9+4], %r1;"
    assert requests(body, way="st") == [(4,), (4,)]


# --- loops ---------------------------------------------------------------------------------------------------------


def loop(work: str = "", test: str = "lt.s32", step: int = 1, head: str = "") -> str:
    return f"""mov.u32 %r5, 0; mov.u64 %q3, %q0; L: {head} ld.global.f32 %f1, [%q3]; add.f32 %f0, %f0, %f1; {work}
        add.s64 %q3, %q3, 64; add.s32 %r5, %r5, {step}; setp.{test} %p1, %r5, %r1; @%p1 bra L; {uses(1)}"""


def copies(body: str) -> int:
    """How often the load of `loop` stands in the unrolled function."""
    made = unroll(function(body)[0])
    return sum(inst.type == "f32" and inst.has("global") for inst in instructions(made, "ld"))


FMA = "fma.rn.f32 %f0, %f0, %f0, %f0;"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (loop(), 7),  # four, two, one
        (loop(test="ne.s32"), 7),
        (loop(test="le.s32"), 7),
        (loop(test="gt.s32", step=-1), 7),
        (loop(test="lt.u32"), 8),  # and one round in front, for a loop that should make none
        (loop(test="gt.s32"), 1),  # runs away from its end
        (loop(step=4), 7),
        (loop(head='.pragma "nounroll";'), 1),
        (loop(work="setp.gt.f32 %p2, %f0, %f1; @%p2 bra OUT;") + "OUT:", 1),  # another way out
        (loop(work="add.s32 %r1, %r1, %r0;"), 1),  # its end moves
        (loop(work="div.rn.f32 %f0, %f0, %f1;"), 1),  # a subroutine inside
        (loop(work="membar.gl;"), 1),
        (loop(work="bar.sync 0;"), 7),
        (loop(work="setp.gt.f32 %p2, %f0, %f1; @%p2 bra M; add.f32 %f0, %f0, %f1; M:"), 7),
        (loop(work=FMA * 43), 7),  # 49 instructions in all
        (loop(work=FMA * 44), 1),
        (loop().replace("%r1;", "64;"), 64),  # a known number of rounds: altogether
        (loop().replace("%r1;", "1000;"), 1),
        (loop(work=FMA * 33).replace("%r1;", "16;"), 16),
        (loop(work=FMA * 34).replace("%r1;", "16;"), 1),
        (loop(work="setp.gt.f32 %p2, %f0, %f1; @%p2 bra OUT;").replace("%r1;", "16;") + "OUT:", 16),  # two ways out
    ],
)
def test_which_loops_are_unrolled(body, expected):
    assert copies(body) == expected


def test_loads_of_several_rounds_merge_in_a_loop_that_is_written_out():
    body = f"""mov.u32 %r5, 0; L: ld.shared.f32 %f1, [%r9]; add.f32 %f0, %f0, %f1; add.s32 %r9, %r9, 4;
        add.s32 %r5, %r5, 1; setp.ne.s32 %p1, %r5, 16; @%p1 bra L; {uses(1)}"""
    assert requests(body) == [(16,), (), (), ()] * 4
    middle = f"""mov.u32 %r5, 0; bra.uni M; L: ld.shared.f32 %f1, [%r9]; add.f32 %f0, %f0, %f1; add.s32 %r5, %r5, 1;
        M: ld.shared.f32 %f2, [%r9+4]; add.f32 %f0, %f0, %f2; add.s32 %r9, %r9, 8; setp.eq.s32 %p1, %r5, 3;
        @%p1 bra OUT; bra.uni L; OUT: {uses(1)}"""
    assert requests(middle) == [(16,), (), (), (16,), (), (), ()]  # from 4 on


def test_many_shared_loads_allow_a_longer_loop():
    pair = "ld.shared.f32 %f3, [%r9+{}]; add.f32 %f0, %f0, %f3;"

    def with_loads(count: int, fma: int) -> str:
        return loop(work="".join(pair.format(8 * i + 4) for i in range(count)) + FMA * fma)

    assert copies(with_loads(5, 28)) == 7 and copies(with_loads(5, 29)) == 1
    assert copies(with_loads(10, 35)) == 7 and copies(with_loads(10, 36)) == 1
    assert copies(with_loads(31, 0)) == 7 and copies(with_loads(32, 0)) == 1


def rounds(counts: list[int], test: str = "lt.s32", step: int = 1) -> tuple[list[int], int]:
    """A loop in which lane i loads counts[i] times: the sums of what it loads, and the requests of these loads."""
    body = f"""ld.param.u64 %q1, [a0]; ld.param.u64 %q2, [a1]; ld.param.u64 %q5, [a2]; mov.u32 %r0, %tid.x;
        mad.wide.s32 %q3, %r0, 4, %q1; ld.global.u32 %r1, [%q3]; mov.u32 %r5, 0; mov.u32 %r6, 0;
        setp.eq.s32 %p2, %r1, 0; @%p2 bra DONE; mov.u64 %q4, %q2;
        L: ld.global.u32 %r3, [%q4]; add.s32 %r6, %r6, %r3; add.s64 %q4, %q4, 4; add.s32 %r5, %r5, {step};
        setp.{test} %p1, %r5, %r1; @%p1 bra L;
        DONE: mad.wide.s32 %q6, %r0, 4, %q5; st.global.u32 [%q6], %r6;"""
    ends, table = np.array(counts, np.int32) * np.int32(step), np.arange(99, dtype=np.int32) ** 2
    out = np.zeros(ends.size, np.int32)
    outcome = launch(kernel(body, "u64", "u64", "u64"), ends.size, ends, table, out)
    assert not outcome.kinds
    return out.tolist(), outcome.counters["global_load_requests"] - 1


def sums(counts: list[int]) -> list[int]:
    return [sum(k * k for k in range(n)) for n in counts]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([7], 7),
        ([5, 7], 7),
        ([3, 4], 7),  # not 4: one lane makes two rounds and one, the other four at once
        ([1, 2, 3, 4], 7),
        ([8, 8, 8], 8),
        ([8, 9, 10, 11], 8 + 3),
        ([1, 4], 5),
        ([0, 0], 0),
    ],
)
def test_lanes_with_different_numbers_of_rounds(counts, expected):
    assert rounds(counts) == (sums(counts), expected)


@settings(max_examples=12, deadline=None)
@given(
    counts=st.lists(st.integers(0, 30), min_size=1, max_size=32),
    shape=st.sampled_from(
        [("lt.s32", 1), ("lt.s32", 4), ("ne.s32", 1), ("ne.s32", 4), ("lt.u32", 1), ("ne.u32", 3), ("gt.s32", -1)]
    ),
)
def test_unrolling_changes_no_values(counts, shape):
    assert rounds(counts, *shape)[0] == sums(counts)


# --- fused multiply-adds -------------------------------------------------------------------------------------------


def floats(body: str, written: int = 1) -> list[str]:
    """The float instructions of a function after contraction, by name."""
    made = contract(function(body + "".join(f"st.global.f32 [%q0+{4 * i}], %f{10 + i};" for i in range(written)))[0])
    return [inst.name for inst in instructions(made, "mul", "add", "sub", "fma", "neg") if inst.type == "f32"]


AB, CD = "mul.f32 %f5, %f1, %f2;", "mul.f32 %f6, %f3, %f4;"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (AB + "add.f32 %f10, %f5, %f3;", ["fma.rn.f32"]),
        (AB + "add.f32 %f10, %f3, %f5;", ["fma.rn.f32"]),
        (AB + "sub.f32 %f10, %f5, %f3;", ["neg.f32", "fma.rn.f32"]),
        (AB + "sub.f32 %f10, %f3, %f5;", ["neg.f32", "fma.rn.f32"]),
        (AB + "add.sat.f32 %f10, %f5, %f3;", ["fma.rn.sat.f32"]),
        (AB + "bar.sync 0; add.f32 %f10, %f5, %f3;", ["fma.rn.f32"]),
        ("mul.ftz.f32 %f5, %f1, %f2; add.ftz.f32 %f10, %f5, %f3;", ["fma.rn.ftz.f32"]),
        ("mul.ftz.f32 %f5, %f1, %f2; add.f32 %f10, %f5, %f3;", ["mul.ftz.f32", "add.f32"]),
        ("mul.rn.f32 %f5, %f1, %f2; add.f32 %f10, %f5, %f3;", ["mul.rn.f32", "add.f32"]),
        (AB + "add.rn.f32 %f10, %f5, %f3;", ["mul.f32", "add.rn.f32"]),
        ("mul.sat.f32 %f5, %f1, %f2; add.f32 %f10, %f5, %f3;", ["mul.sat.f32", "add.f32"]),
        (AB + "add.f32 %f10, %f5, %f5;", ["mul.f32", "add.f32"]),
        (AB + "add.f32 %f10, %f5, %f3; st.global.f32 [%q0], %f5;", ["mul.f32", "add.f32"]),  # read by another
        (AB + f"{BRANCH} bar.sync 0; L: add.f32 %f10, %f5, %f3;", ["mul.f32", "add.f32"]),  # in another block
        (AB + CD + "add.f32 %f10, %f5, %f6;", ["mul.f32", "fma.rn.f32"]),
    ],
)
def test_products_are_added_in_one_step(body, expected):
    assert floats(body) == expected


def test_of_two_products_the_first_operand_is_fused():
    for first, second in (("%f5", "%f6"), ("%f6", "%f5")):
        made = contract(function(AB + CD + f"add.f32 %f10, {first}, {second}; st.global.f32 [%q0], %f10;")[0])
        (fma,) = instructions(made, "fma")
        factors = {"%f5": ["%f1", "%f2"], "%f6": ["%f3", "%f4"]}[first]
        assert [operand.name for operand in fma.operands[1:]] == [*factors, second]


def test_a_product_read_once_goes_before_one_read_twice():
    body = AB + CD + "add.f32 %f10, %f5, %f6; add.f32 %f11, %f5, %f7;"
    assert floats(body, 2) == ["mul.f32", "fma.rn.f32", "add.f32"]
    both = AB + "add.f32 %f10, %f5, %f3; add.f32 %f11, %f5, %f4;"
    assert floats(both, 2) == ["fma.rn.f32", "fma.rn.f32"]


def test_factors_keep_the_values_they_had_at_the_product():
    x = np.float32(1 + 2**-12)
    body = """ld.param.u64 %q1, [a0]; ld.global.f32 %f1, [%q1]; ld.global.f32 %f3, [%q1+4]; mul.f32 %f5, %f1, %f1;
        mov.f32 %f1, 0f00000000; add.f32 %f6, %f5, %f3; add.f32 %f6, %f6, %f1; st.global.f32 [%q1+8], %f6;"""
    data = np.array([x, -1, 0], np.float32)
    assert not launch(kernel(body, "u64"), 1, data).kinds
    once = np.float32(np.float64(x) * np.float64(x) - 1)
    assert data[2] == once != x * x - np.float32(1)


# --- the flow of control -------------------------------------------------------------------------------------------


def test_dominators_and_versions():
    made, _ = function(f"{BRANCH} add.s32 %r2, %r2, 1; bra M; L: add.s32 %r3, %r3, 1; M: add.s32 %r4, %r4, 1;")
    flow = Flow(made)
    at = {inst.operands[0].name: i for i, inst in enumerate(made.body) if inst in list(instructions(made, "add"))}
    start = next(i for i, s in enumerate(made.body) if isinstance(s, Instruction) and s.opcode == "setp")
    assert flow.dominates(start, at["%r4"]) and flow.dominates(start, at["%r2"])
    assert not flow.dominates(at["%r2"], at["%r4"]) and not flow.dominates(at["%r2"], at["%r3"])
    seen = flow.versions([at["%r2"]])
    assert seen[at["%r2"]] == seen[at["%r3"]] == ("entry",)
    assert seen[at["%r4"]] == ("join", flow.block_of[at["%r4"]])


def test_a_function_without_loads_or_loops_is_left_as_it_is():
    made, shared = function("add.s32 %r2, %r0, %r1; st.global.u32 [%q0], %r2;")
    assert assemble(made, shared).body == made.body
