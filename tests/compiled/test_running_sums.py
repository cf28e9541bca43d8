"""Which additions of compiled code are links of a running sum."""

from __future__ import annotations

from gpukit.machine.frontends.ptx.parser import parse
from gpukit.machine.frontends.ptx.running_sums import running_sums

HEAD = """.version 8.0
.target sm_80
.address_size 64
.file 1 "k.cu"
.visible .entry k()
{
.reg .f32 %f<20>;
.reg .f64 %d<20>;
.reg .b32 %r<9>;
.reg .pred %p;
"""


def found(body: str) -> list[str]:
    """For each line of `body` the accumulator, "" where there is none."""
    lines = body.strip().splitlines()
    first = HEAD.count("\n") + 1
    sums = running_sums(parse(HEAD + "\n".join(lines) + "\nret;\n}\n").functions["k"])
    return [sums[first + i].name if first + i in sums else "" for i in range(len(lines))]


def test_a_sum_into_its_own_operand():
    assert found("mov.f32 %f1, 0f00000000;\nadd.f32 %f1, %f1, %f2;") == ["", "%f1"]
    assert found("mov.f32 %f1, 0f00000000;\nadd.f32 %f1, %f2, %f1;") == ["", "%f1"]
    assert found("mov.f64 %d1, 0d0000000000000000;\nsub.f64 %d1, %d1, %d2;") == ["", "%d1"]


def test_a_difference_that_changes_sides_is_no_sum():
    assert found("mov.f32 %f1, 0f00000000;\nsub.f32 %f1, %f2, %f1;") == ["", ""]


def test_a_chain_of_an_unrolled_loop():
    body = """
        mov.f32 %f1, 0f00000000;
        $loop:
        add.f32 %f2, %f1, %f10;
        add.f32 %f3, %f11, %f2;
        add.f32 %f1, %f3, %f12;
        bra $loop;
    """
    assert found(body) == ["", "", "%f1", "%f2", "%f3", ""]


def test_a_chain_that_a_move_closes():
    body = """
        mov.f32 %f1, 0f00000000;
        $loop:
        add.f32 %f2, %f1, %f10;
        add.f32 %f3, %f2, %f11;
        mov.f32 %f1, %f3;
        bra $loop;
    """
    assert found(body) == ["", "", "%f1", "%f2", "", ""]


def test_an_expression_of_several_terms_is_no_running_sum():
    assert found("add.f32 %f3, %f1, %f2;\nadd.f32 %f4, %f3, %f5;\nadd.f32 %f6, %f4, 0f3089705F;") == ["", "", ""]


def test_sums_of_different_source_lines_are_no_chain():
    body = """
        mov.f32 %f1, 0f00000000;
        .loc 1 10 3
        add.f32 %f2, %f1, %f10;
        .loc 1 11 3
        add.f32 %f1, %f2, %f11;
    """
    assert found(body) == [""] * 5


def test_a_chain_ends_where_its_register_gets_another_value():
    body = """
        mov.f32 %f1, 0f00000000;
        add.f32 %f2, %f1, %f10;
        mov.f32 %f1, 0f3F800000;
        add.f32 %f1, %f2, %f11;
    """
    assert found(body) == [""] * 4


def test_a_chain_ends_at_a_label():
    body = """
        mov.f32 %f1, 0f00000000;
        add.f32 %f2, %f1, %f10;
        $label:
        add.f32 %f1, %f2, %f11;
    """
    assert found(body) == [""] * 4


def test_a_dot_product_adds_to_the_last_operand():
    body = """
        mov.f32 %f1, 0f00000000;
        fma.rn.f32 %f2, %f10, %f11, %f1;
        fma.rn.f32 %f1, %f12, %f13, %f2;
    """
    assert found(body) == ["", "%f1", "%f2"]
    horner = "mov.f32 %f1, 0f3F800000;\nfma.rn.f32 %f1, %f1, %f10, %f11;"
    assert found(horner) == ["", ""]


def test_integers_are_not_looked_at():
    assert found("mov.u32 %r1, 0;\nadd.s32 %r1, %r1, 1;") == ["", ""]
