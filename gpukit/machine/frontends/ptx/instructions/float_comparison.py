"""Comparison, selection and tests of f32 and f64: setp set selp slct testp.

Comparison words: eq ne lt le gt ge are false where an operand is NaN; equ neu ltu leu gtu geu are true there; num and
nan say whether both are numbers or one is not. .ftz compares subnormal numbers as zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.arithmetic import floats
from gpukit.machine.frontends.ptx.instructions import comparison
from gpukit.machine.frontends.ptx.instructions.float_forms import F32
from gpukit.machine.frontends.ptx.instructions.forms import BOOL, compute, expect, known, one_of, operands
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import FLOAT, TYPES, Instruction, Operand
from gpukit.machine.program import Const
from gpukit.machine.program import Operand as Value

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

_COMPARE = {
    "eq": "{0} == {1}",
    "ne": "({0} < {1}) | ({0} > {1})",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "equ": "~(({0} < {1}) | ({0} > {1}))",
    "neu": "{0} != {1}",
    "ltu": "~({0} >= {1})",
    "leu": "~({0} > {1})",
    "gtu": "~({0} <= {1})",
    "geu": "~({0} < {1})",
    "num": "({0} == {0}) & ({1} == {1})",
    "nan": "({0} != {0}) | ({1} != {1})",
}
_TESTS = {
    "finite": "np.isfinite({0})",
    "infinite": "np.isinf({0})",
    "number": "{0} == {0}",
    "notanumber": "{0} != {0}",
    "normal": "np.isfinite({0}) & ((np.abs({0}) >= {1}) | ({0} == 0))",  # zeros count as normal
    "subnormal": "(np.abs({0}) < {1}) & ({0} != 0)",
}


@instruction("setp", families=(FLOAT,))
def set_predicate(out: Emitter, inst: Instruction) -> None:
    """p|q = the comparison and its opposite, each combined with a predicate if the instruction says so."""
    if len(inst.types) != 1:
        out.refuse(f"`{inst.name}`")
    comparison.write_predicates(out, _comparison(out, inst))


@instruction("set", families=(FLOAT,))
def set_value(out: Emitter, inst: Instruction) -> None:
    """d = 1.0 (f32) or all ones (s32, u32) where the comparison holds, else 0."""
    if len(inst.types) != 2 or inst.types[0] not in ("u32", "s32", "f32"):
        out.refuse(f"`{inst.name}`")
    comparison.write_value(out, inst, _comparison(out, inst))


def _comparison(out: Emitter, inst: Instruction) -> comparison.Comparison:
    known(out, inst, *_COMPARE, *comparison.COMBINE, "ftz")
    word = one_of(out, inst, *_COMPARE)
    return comparison.comparison(out, inst, _COMPARE[word], lambda operand: _source(out, inst, operand))


def _source(out: Emitter, inst: Instruction, operand: Operand) -> Value:
    """An operand that is compared, flushed if the instruction does that."""
    dtype = TYPES[inst.type]
    if inst.has("ftz") and dtype != F32:
        out.refuse(f"`{inst.name}`")
    value = out.read(operand, dtype)
    return compute(out, dtype, floats.flush, value) if inst.has("ftz") else value


@instruction("selp", families=(FLOAT,))
def select_by_predicate(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, "f32 f64")
    target, a, b, p = operands(out, inst, 4)
    out.alu(target, dtype, select, out.read(p, BOOL), out.read(a, dtype), out.read(b, dtype))


@instruction("slct", families=(FLOAT,))
def select_by_sign(out: Emitter, inst: Instruction) -> None:
    """d = a where c >= 0 (-0 is), else b, NaN included."""
    known(out, inst, "ftz")
    if len(inst.types) != 2 or inst.types[0] not in comparison.SELECTED or inst.types[1] != "f32":
        out.refuse(f"`{inst.name}`")
    target, a, b, c = operands(out, inst, 4)
    dtype = TYPES[inst.types[0]]
    nonnegative = compute(out, BOOL, "{0} >= 0", _source(out, inst, c))
    out.alu(target, dtype, select, nonnegative, out.read(a, dtype), out.read(b, dtype))


def select(p, a, b):
    """a where p, else b, by masks: where lanes disagree np.where takes several times as long, once for each branch that
    the processor guesses wrong."""
    bits = f"i{a.dtype.itemsize}"
    first, second = a.view(bits), b.view(bits)
    return (((first ^ second) & -p.astype(bits)) ^ second).view(a.dtype)


@instruction("testp", families=(FLOAT,))
def test_property(out: Emitter, inst: Instruction) -> None:
    dtype = expect(out, inst, "f32 f64", *_TESTS)
    target, a = operands(out, inst, 2)
    smallest_normal = Const(np.finfo(dtype).smallest_normal)
    out.alu(target, BOOL, _TESTS[one_of(out, inst, *_TESTS)], out.read(a, dtype), smallest_normal)
