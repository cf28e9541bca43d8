"""PTX text to a tree."""

from __future__ import annotations

import numpy as np
import pytest

from gpukit.errors import KernelSyntaxError
from gpukit.machine.frontends.ptx import parser
from gpukit.machine.frontends.ptx.syntax import (
    Float,
    Instruction,
    Integer,
    Label,
    Memory,
    Negated,
    Pair,
    Register,
    Sink,
    Symbol,
    Vector,
)

HEAD = ".version 8.8\n.target sm_90, debug\n.address_size 64\n"


def body(text: str, top: str = "") -> list:
    module = parser.parse(f"{HEAD}{top}\n.visible .entry k(.param .u64 k_param_0)\n{{\n{text}\nret;\n}}\n")
    return module.functions["k"].body[:-1]


def test_an_instruction_has_its_modifiers_guard_and_operands():
    (inst,) = body("@!%p1 fma.rn.ftz.f32 %f1, %f2, 0f3F800000, 0d3FF0000000000000;")
    assert inst.opcode == "fma" and inst.modifiers == ("rn", "ftz", "f32")
    assert inst.guard == (Register("%p1"), True)
    assert inst.operands == (Register("%f1"), Register("%f2"), Float(0x3F800000, 4), Float(0x3FF0000000000000, 8))
    assert inst.type == "f32" and inst.name == "fma.rn.ftz.f32"
    assert inst.text_line == 7


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("[%rd1+-8]", Memory(Register("%rd1"), -8)),
        ("[%rd1]", Memory(Register("%rd1"), 0)),
        ("[table+4]", Memory(Symbol("table"), 4)),
        ("[256]", Memory(Integer(256), 0)),
        ("{%r1, _, 5}", Vector((Register("%r1"), Sink(), Integer(5)))),
        ("%r1|%p1", Pair(Register("%r1"), Register("%p1"))),
        ("_|%p1", Pair(Sink(), Register("%p1"))),
        ("!%p1", Negated(Register("%p1"))),
        ("%tid.x", Register("%tid.x")),
        ("-2147483648", Integer(-(2**31))),
        ("0x7FU", Integer(127)),
        ("0b101", Integer(5)),
        ("017", Integer(15)),
        ("0f80000000", Float(0x80000000, 4)),
        ("-1.5", Float(int(np.float64(-1.5).view(np.uint64)), 8)),
        ("table+12", Symbol("table", 12)),
    ],
)
def test_operands(text, operand):
    (inst,) = body(f"any.b32 %r0, {text};")
    assert inst.operands[1] == operand


def test_modifiers_may_have_two_parts():
    (inst,) = body("cp.async.ca.shared::cta.global.L2::128B [%r1], [%rd1], 16, 16;")
    assert inst.modifiers == ("async", "ca", "shared::cta", "global", "L2::128B")


def test_registers_and_labels_of_inner_braces_get_names_of_their_own():
    statements = body("""
        .reg .b32 low;
        mov.b32 low, 1;
        { .reg .b32 low; WAIT: mov.b32 low, 2; bra WAIT; }
        { .reg .b32 low; WAIT: mov.b32 low, 3; bra WAIT; }
    """)
    moves = [s.operands[0].name for s in statements if isinstance(s, Instruction) and s.opcode == "mov"]
    labels = [s.name for s in statements if isinstance(s, Label)]
    jumps = [s.operands[0].name for s in statements if isinstance(s, Instruction) and s.opcode == "bra"]
    assert len(set(moves)) == 3 and moves[0] == "low"
    assert len(set(labels)) == 2 and labels == jumps


def test_a_range_declares_that_many_registers():
    module = parser.parse(f"{HEAD}.entry k() {{ .reg .pred %p<3>; .reg .f32 %f<2>, %g; ret; }}")
    assert module.functions["k"].registers == {
        "%p0": "pred", "%p1": "pred", "%p2": "pred", "%f0": "f32", "%f1": "f32", "%g": "f32",
    }  # fmt: skip


def test_variables_have_their_bytes():
    module = parser.parse(
        HEAD
        + """
        .global .align 4 .u32 plain = 7;
        .const .align 8 .f64 pair[2] = {0d3FF0000000000000, 2.0};
        .global .align 1 .b8 $str[4] = {104, 105, 10, 0};
        .global .align 8 .u64 pointers[2] = {plain, generic(pair)+8};
        .extern .shared .align 16 .b8 dynamic[];
        .shared .align 4 .b8 tile[8][4];
        """
    )
    variables = module.variables
    assert variables["plain"].initial == b"\7\0\0\0"
    assert np.frombuffer(variables["pair"].initial).tolist() == [1.0, 2.0]
    assert variables["$str"].initial == b"hi\n\0"
    assert variables["pointers"].pointers == {0: Symbol("plain"), 8: Symbol("pair", 8)}
    assert variables["dynamic"].dynamic and variables["dynamic"].nbytes == 0
    assert variables["tile"].nbytes == 32 and not variables["tile"].dynamic


def test_locations_know_where_their_function_was_inlined():
    statements = body("""
        .loc 1 10 5
        mov.b32 %r1, 1;
        .loc 2 7 3, function_name $name, inlined_at 1 10 5
        mov.b32 %r2, 2;
        .loc 3 99 1, function_name $other+4, inlined_at 2 7 3
        mov.b32 %r3, 3;
    """)
    inner = statements[2].location
    assert (inner.file, inner.line) == (3, 99)
    assert (inner.inlined_at.file, inner.inlined_at.line) == (2, 7)
    assert (inner.inlined_at.inlined_at.file, inner.inlined_at.inlined_at.line) == (1, 10)
    assert statements[0].location.inlined_at is None


def test_functions_declare_parameters_and_results():
    module = parser.parse(
        HEAD
        + """
        .extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b) ;
        .func (.param .align 4 .b8 result[8]) pair(.param .b32 x, .reg .f32 y) .noreturn { ret; }
        .visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[24]) .maxntid 256, 1, 1 { ret; }
        """
    )
    assert module.functions["vprintf"].body is None
    pair = module.functions["pair"]
    assert pair.results[0].nbytes == 8 and [v.space for v in pair.parameters] == ["param", "reg"]
    kernel = module.functions["k"]
    assert kernel.entry and [v.nbytes for v in kernel.parameters] == [8, 24]
    assert kernel.limits == {"maxntid": (256, 1, 1)}


def test_jump_tables_and_prototypes_are_kept():
    module = parser.parse(
        HEAD
        + """
        .entry k() {
            table: .branchtargets A, B;
            proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);
            A: B: ret;
        }
        """
    )
    function = module.functions["k"]
    assert function.labels_of == {"table": ("A", "B")}
    results, parameters = function.prototypes["proto"]
    assert [v.nbytes for v in (*results, *parameters)] == [4, 4, 8]


def test_loops_that_stay_rolled_are_known():
    module = parser.parse(f'{HEAD}.entry k() {{ A: .pragma "nounroll"; bra A; B: bra B; }}')
    assert module.functions["k"].rolled == {"A"}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("this is no PTX", "k.ptx:1: .* at 'this'"),
        (".version 8.0\n.target sm_90\n\n?", r"k.ptx:4: '\?' is not PTX"),
        (f"{HEAD}.entry k() {{ add.s32 %r1 %r2; }}", "k.ptx:4: .*expected ',' or ';' at '%r2'"),
        (f"{HEAD}.entry k() {{ add.s32 %r1, %r2;", "k.ptx:4: .*expected '}' at the end"),
        (f"{HEAD}.entry k() {{ ret; }} .section .debug {{", "k.ptx:4: .*stops in the middle"),
        (f"{HEAD}.entry k() {{ .reg .v4 .f32 %v; }}", "vector registers"),
        (".address_size 32", "64-bit"),
    ],
)
def test_what_is_not_ptx_is_named_by_its_line(text, where):
    with pytest.raises(KernelSyntaxError, match=where):
        parser.parse(text, "k.ptx")
