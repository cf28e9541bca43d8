"""Atomics that one lane does for its warp: which they are, what they count, and that nobody's old value changes.

The forms and what becomes of them were read off the machine code of ptxas 13.0 and 13.5 for sm_90, which agree."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.launches import HEAD, per_thread

from gpukit.machine.frontends.ptx.assembler.aggregation import aggregate
from gpukit.machine.frontends.ptx.parser import parse
from gpukit.machine.frontends.ptx.syntax import Instruction
from gpukit.machine.program import WARP, WHOLE_WARP

EACH = ""
# The registers of every form: %r0 the thread, %r1 the block, %r2 a parameter, %r3 a number of each lane's own, %p0
# whether that is positive; %q1 an array, %q2 another, %q3 an element of each lane's own of it; %q7 one of local
# memory that holds a number of each lane's own.
START = """mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; ld.param.u32 %r2, [a2]; ld.param.u64 %q1, [a0];
    ld.param.u64 %q2, [a1]; mul.wide.u32 %q0, %r0, 4; add.s64 %q3, %q2, %q0; ld.global.u32 %r3, [%q3];
    setp.gt.s32 %p0, %r3, 0; mov.u64 %q6, l; st.local.u32 [%q6], %r0; mul.wide.u32 %q7, %r2, 4;
    add.s64 %q7, %q6, %q7;"""
KEEP = {"%r9": "st.global.u32 [%q3], %r9;", "%q9": "st.global.u64 [%q3], %q9;", "%f9": "st.global.f32 [%q3], %f9;"}
AT_R5 = "mul.wide.s32 %q5, %r5, 4; add.s64 %q4, %q1, %q5; red.global.add.u32 [%q4], 3;"
REGISTERS = ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %q<20>; .reg .f32 %f<20>; .reg .f64 %d<20>;"


def of(body: str, limits: str = "", callee: str = "") -> list[str]:
    """What each atomic of a kernel is done together for, in order."""
    declared = ".shared .align 8 .b8 s[1024]; .local .align 8 .b8 l[64];"
    parameters = ".param .u64 a0, .param .u64 a1, .param .u32 a2"
    text = f"{HEAD}{callee}.visible .entry k({parameters}) {limits} {{ {REGISTERS} {declared} {START} {body} ret; }}"
    module = parse(text)
    made = aggregate(module.functions["f" if callee else "k"], {"s": 0})
    return [s.together for s in made.body or () if isinstance(s, Instruction) and s.opcode in ("atom", "red")]


@pytest.mark.parametrize("space", ["global", "shared", ""])
@pytest.mark.parametrize(
    ("form", "one", "own"),
    [  # the value: one for the warp, and of each lane's own
        ("atom.add.u32 %r9", WARP, WHOLE_WARP),
        ("atom.add.s32 %r9", WARP, WHOLE_WARP),
        ("atom.add.u64 %q9", WARP, EACH),
        ("red.add.u32", WARP, WARP),
        ("red.add.s32", WARP, WARP),
        ("red.add.u64", WARP, EACH),
        *((f"red.{action}.{kind}32", WARP, WARP) for action in ("min", "max") for kind in "us"),
        *((f"red.{action}.b32", WARP, WARP) for action in ("and", "or", "xor")),
        *((f"atom.{action}.s32 %r9", EACH, EACH) for action in ("min", "max")),
        *((f"atom.{action}.b32 %r9", EACH, EACH) for action in ("and", "or", "xor", "exch")),
        *((f"red.{action}.u64", EACH, EACH) for action in ("min", "max")),
        *((f"red.{action}.b64", EACH, EACH) for action in ("and", "or", "xor")),
        *((f"{form}.u32{old}", EACH, EACH) for form, old in (("atom.inc", " %r9"), ("red.inc", ""), ("red.dec", ""))),
        *((f"{form}.add.f32{old}", EACH, EACH) for form, old in (("atom", " %f9"), ("red", ""))),
        ("atom.cas.b32 %r9", EACH, EACH),
    ],
)
def test_which_operations(form, one, own, space):
    operation, _, old = form.partition(" ")
    where = {"global": "[%q1+8]", "shared": "[s+8]", "": "[%q1+8]"}[space]
    opcode, _, rest = operation.partition(".")
    name = ".".join(part for part in (opcode, space, rest) if part)
    wide = "64" in operation
    for value, together in (("7", one), ("%q0" if wide else "%r3", own)):
        if "f32" in operation:
            value = "%f1" if value == "%r3" else "0f3F800000"
        compare = " 5," if "cas" in operation else ""
        body = (
            f"cvt.rn.f32.u32 %f1, %r0; {name} {old + ', ' if old else ''}{where},{compare} {value}; {KEEP.get(old, '')}"
        )
        assert of(body) == [together], body


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("atom.global.add.u32 %r9, [%q1], 3;", WARP),  # nobody reads it
        ("atom.global.max.s32 %r9, [%q1], %r3;", WARP),
        ("atom.global.add.u32 %r9, [%q1], %r2; st.global.u32 [%q3], %r9;", WARP),
        ("ld.global.u32 %r4, [%q2]; atom.global.add.u32 %r9, [%q1], %r4; st.global.u32 [%q3], %r9;", WARP),
        ("atom.acq_rel.sys.global.add.u32 %r9, [%q1], 3; st.global.u32 [%q3], %r9;", WARP),
        ("atom.global.inc.u32 %r9, [%q1], -1; st.global.u32 [%q3], %r9;", WARP),  # without a limit: adds 1
        ("mov.u32 %r4, 0xffffffff; red.global.inc.u32 [%q1], %r4;", WARP),
        ("red.shared.add.u32 [s], 1;", EACH),  # counted by the hardware: ATOMS.POPC.INC
        ("mov.u32 %r4, 1; red.shared.add.u32 [s], %r4;", EACH),
        ("red.shared.add.s32 [s], 1;", WARP),
        ("red.shared.add.u32 [s], 2;", WARP),
        ("red.global.add.u32 [%q1], 1;", WARP),
        ("atom.shared.add.u32 %r9, [s], 1; st.global.u32 [%q3], %r9;", WARP),
        ("@%p0 red.global.add.u32 [%q1], %r3;", WARP),
        ("@%p0 bra A; red.global.add.u32 [%q1], %r3; A:", WARP),
        ("@%p0 bra A; ld.global.u32 %r4, [%q2]; red.global.add.u64 [%q1], 5; A:", WARP),
        ("@%p0 exit; atom.global.add.u32 %r9, [%q1], %r0; st.global.u32 [%q3], %r9;", WHOLE_WARP),
    ],
)
def test_values_and_places(body, expected):
    assert of(body) == [expected]


@pytest.mark.parametrize(
    ("index", "expected"),
    [  # the address is that of element %r5
        ("mov.u32 %r5, %r1;", WARP),
        ("mov.u32 %r5, %ntid.y;", WARP),
        ("mov.u32 %r5, %warpid;", WARP),
        ("mov.u32 %r5, %r0;", EACH),
        ("mov.u32 %r5, %tid.y;", EACH),
        ("mov.u32 %r5, %laneid;", EACH),
        ("mov.u32 %r5, %lanemask_lt;", EACH),
        ("shr.u32 %r5, %r0, 5;", EACH),  # the same in a warp, but for blocks of more than one dimension
        ("ld.global.u32 %r5, [%q2];", WARP),
        ("ld.volatile.global.u32 %r5, [%q2];", WARP),
        ("ld.shared.u32 %r5, [s];", WARP),
        ("ld.global.u32 %r5, [%q3];", EACH),
        ("ld.local.u32 %r5, [%q7];", EACH),
        ("atom.global.exch.b32 %r5, [%q2], 1;", EACH),
        ("vote.sync.ballot.b32 %r5, %p0, -1;", WARP),
        ("vote.sync.any.pred %p1, %p0, -1; selp.b32 %r5, 1, 2, %p1;", WARP),
        ("redux.sync.add.s32 %r5, %r3, -1;", WARP),
        ("activemask.b32 %r5;", WARP),
        ("match.any.sync.b32 %r5, %r3, -1;", EACH),
        ("match.all.sync.b32 %r5|%p1, %r3, -1;", WARP),
        ("bar.red.popc.u32 %r5, 0, %p0;", EACH),
        ("shfl.sync.idx.b32 %r5|%p1, %r3, 0, 31, -1;", WARP),
        ("shfl.sync.idx.b32 %r5|%p1, %r3, %r2, 31, -1;", WARP),
        ("shfl.sync.idx.b32 %r5|%p1, %r3, %r0, 31, -1;", EACH),
        ("shfl.sync.idx.b32 %r5|%p1, %r3, 0, 0x181f, -1;", EACH),  # in groups of eight
        ("shfl.sync.down.b32 %r5|%p1, %r3, 1, 31, -1;", EACH),
        ("shfl.sync.down.b32 %r5|%p1, %r1, 1, 31, -1;", WARP),
        ("elect.sync %r5|%p1, -1;", WARP),
        ("elect.sync %r4|%p1, -1; selp.b32 %r5, 1, 2, %p1;", EACH),
        ("selp.b32 %r5, 1, 2, %p0;", EACH),
        ("setp.gt.u32 %p1, %r1, 7; selp.b32 %r5, 1, 2, %p1;", WARP),
        ("mov.u32 %r5, 0; @%p0 mov.u32 %r5, 5;", EACH),
        ("div.u32 %r5, %r2, %r1;", WARP),
        ("cvt.u64.u32 %q5, %r2; rem.u64 %q6, %q5, %q1; cvt.u32.u64 %r5, %q6;", EACH),  # a subroutine
        ("cvt.rn.f32.u32 %f1, %r2; div.rn.f32 %f2, %f1, %f1; cvt.rzi.s32.f32 %r5, %f2;", EACH),
        ("cvt.rn.f32.u32 %f1, %r2; div.full.f32 %f2, %f1, %f1; cvt.rzi.s32.f32 %r5, %f2;", WARP),
    ],
)
def test_which_addresses(index, expected):
    assert of(index + AT_R5)[-1] == expected


ROUND = " add.u32 %r5, %r5, 1; "
UNTIL_MANY, UNTIL_OWN = "setp.ge.u32 %p1, %r5, %r2; ", "setp.ge.u32 %p1, %r5, %r3; "
POLL = "ld.volatile.global.u32 %r6, [%q3]; setp.eq.u32 %p2, %r6, %r3; "


@pytest.mark.parametrize(
    ("body", "expected"),
    [  # %r5 counts the rounds, or is decided by a branch
        (f"mov.u32 %r5, 0; L: {AT_R5} {ROUND} {UNTIL_MANY} @!%p1 bra L;", WARP),
        (f"mov.u32 %r5, 0; L: {AT_R5} {ROUND} {UNTIL_OWN} @!%p1 bra L;", EACH),
        (f"mov.u32 %r5, 0; L: {UNTIL_OWN} @%p1 bra E; {AT_R5} {ROUND} bra L; E:", EACH),
        (f"mov.u32 %r5, 0; L: {UNTIL_MANY} @%p1 bra E; {POLL} @%p2 bra E; {AT_R5} {ROUND} bra L; E:", WARP),
        (f"mov.u32 %r5, 0; L: {UNTIL_OWN} @%p1 bra E; {AT_R5} {ROUND} {UNTIL_MANY} @!%p1 bra L; E:", WARP),
        (f"mov.u32 %r5, 0; L: {UNTIL_MANY} @%p1 bra E; {ROUND} {POLL} @%p2 bra L; {AT_R5} bra L; E:", WARP),
        (
            f"mov.u32 %r5, 0; L: {UNTIL_MANY} @%p1 bra E; {AT_R5} {ROUND} {POLL} @%p2 bra L; {ROUND} bra L; E:",
            EACH,
        ),
        (f"mov.u32 %r5, 0; L: {POLL} @%p2 bra E; {ROUND} {UNTIL_MANY} @!%p1 bra L; E: {AT_R5}", EACH),
        (f"mov.u32 %r5, %r1; mov.u32 %r7, 0; L: {POLL} @!%p2 bra L; {AT_R5}", WARP),
        (f"mov.u32 %r5, 1; @%p0 bra A; mov.u32 %r5, 2; A: {AT_R5}", EACH),
        (f"setp.gt.u32 %p1, %r1, 3; mov.u32 %r5, 1; @%p1 bra A; mov.u32 %r5, 2; A: {AT_R5}", WARP),
        (f"@%p0 bra B; setp.gt.u32 %p1, %r1, 3; mov.u32 %r5, 1; @%p1 bra A; mov.u32 %r5, 2; A: {AT_R5} B:", WARP),
        (f"mov.u32 %r5, 1; @%p0 bra A; mov.u32 %r5, 2; exit; A: {AT_R5}", WARP),
    ],
)
def test_which_ways(body, expected):
    assert of(body) == [expected]


@pytest.mark.parametrize(
    ("guard", "expected"),
    [  # one lane of a row of threads or of a warp has nothing to put together
        ("setp.ne.s32 %p1, %r0, 0; @%p1 bra A;", EACH),
        ("setp.ne.s32 %p1, %r0, %r2; @%p1 bra A;", EACH),
        ("mov.u32 %r4, %laneid; setp.ne.s32 %p1, %r4, 0; @%p1 bra A;", EACH),
        ("mov.u32 %r4, %ntid.x; mad.lo.s32 %r5, %r1, %r4, %r0; setp.ne.s32 %p1, %r5, 0; @%p1 bra A;", EACH),
        ("setp.ne.s32 %p1, %r0, 0; @%p1 exit;", EACH),
        ("setp.eq.s32 %p1, %r0, 0; @%p1", EACH),
        ("setp.eq.s32 %p1, %r0, 0; @!%p1", WARP),
        ("setp.eq.s32 %p1, %r0, 0; @%p1 bra A;", WARP),
        ("mov.u32 %r4, %tid.y; setp.ne.s32 %p1, %r4, 0; @%p1 bra A;", WARP),
        ("and.b32 %r4, %r0, 31; setp.ne.s32 %p1, %r4, 0; @%p1 bra A;", WARP),
        ("setp.ge.u32 %p1, %r0, 1; @%p1 bra A;", WARP),
    ],
)
def test_a_single_lane_is_left_alone(guard, expected):
    assert of(f"{guard} red.global.add.u32 [%q1], %r3; A:") == [expected]


def test_rows_that_are_whole_warps():
    assert of("mov.u32 %r5, %tid.y;" + AT_R5, limits=".reqntid 64, 4, 1") == [WARP]
    assert of("mov.u32 %r5, %tid.y;" + AT_R5, limits=".reqntid 16, 16, 1") == [EACH]


@pytest.mark.parametrize(("where", "expected"), [("%q1", EACH), ("g", WARP)])
def test_a_function_knows_nothing_of_its_arguments(where, expected):
    callee = f""".global .align 4 .b8 g[64];
        .func (.param .b32 ret) f(.param .b64 a) {{ {REGISTERS} ld.param.b64 %q1, [a];
        atom.global.add.u32 %r9, [{where}], 1; st.param.b32 [ret], %r9; ret; }}"""
    assert of("", callee=callee) == [expected]


# --- what they count -------------------------------------------------------------------------------------------------

CASES = {
    "one value": ("atom.global.add.u32 %r9, [%q1], 3; st.global.u32 [%q4], %r9;", 3),
    "own values": ("add.u32 %r4, %r0, 1; atom.global.add.u32 %r9, [%q1], %r4; st.global.u32 [%q4], %r9;", None),
    "old value unused": ("add.u32 %r4, %r0, 1; red.global.add.u32 [%q1], %r4;", None),
    "largest": ("atom.global.max.u32 %r9, [%q1], %r0; st.global.u32 [%q4], %r9;", None),
    "float": ("atom.global.add.f32 %f9, [%q1], 0f3F800000; st.global.f32 [%q4], %f9;", None),
}


@pytest.mark.parametrize(
    ("case", "active", "sectors", "contention"),
    [  # of 64 threads those below `active` go: a warp, and a part of the second one
        ("one value", 64, 2, 1),
        ("one value", 41, 2, 1),
        ("own values", 64, 2, 1),
        ("own values", 41, 1 + 9, 9),
        ("own values", 9, 9, 9),
        ("old value unused", 41, 2, 1),
        ("largest", 41, 41, 32),
        ("float", 41, 41, 32),
    ],
)
def test_counts_and_old_values(case, active, sectors, contention):
    body, step = CASES[case]
    x, out = np.array([100], np.uint32), np.full(64, 77, np.uint32)
    outcome = per_thread(f"setp.ge.u32 %p1, %r0, {active}; @%p1 bra A; {body} A:", x, out, hazards=False)
    found = outcome.counters
    assert found["global_atomics"] == -(-active // 32)
    assert (found["global_atomic_sectors"], found["atomic_max_contention"]) == (sectors, contention)
    lanes = np.arange(active)
    if case in ("one value", "own values"):  # each lane gets what the lanes before it left
        before = lanes * step if step else lanes * (lanes + 1) // 2
        np.testing.assert_array_equal(out[:active], 100 + before)
        np.testing.assert_array_equal(out[active:], 77)
    if case == "old value unused":
        assert x[0] == 100 + active * (active + 1) // 2


@pytest.mark.parametrize(("value", "contention"), [(1, 32), (2, 1)])
def test_shared_memory(value, contention):
    body = f"""mov.u32 %r4, 0; st.shared.u32 [s], %r4; bar.sync 0; red.shared.add.u32 [s], {value}; bar.sync 0;
        ld.shared.u32 %r9, [s]; st.global.u32 [%q4], %r9;"""
    x, out = np.zeros(1, np.uint32), np.zeros(64, np.uint32)
    found = per_thread(body, x, out, declare=".shared .align 4 .b8 s[4];", hazards=False).counters
    assert (found["shared_atomics"], found["atomic_max_contention"]) == (2, contention)
    assert (out == 64 * value).all()
