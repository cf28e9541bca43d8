"""Addition and subtraction with carry: add.cc addc sub.cc subc and the sums of mad.cc madc, of 32 and 64 bits.

The condition code CC.CF is one predicate register of the function, made when first named. It is the carry of the
adder, which subtracts b by adding ~b and 1: after sub.cc and subc.cc it is set if nothing was borrowed. PTX leaves
open what addc makes of a borrow, but the compiler's own division of 128 bits reads it so. As in PTX the condition code
means nothing across calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.ptx.instructions.forms import BOOL, compute, expect, operands, unsigned
from gpukit.machine.frontends.ptx.instructions.table import instruction
from gpukit.machine.frontends.ptx.syntax import INTEGER, Instruction, Operand, Register
from gpukit.machine.program import Operand as Value
from gpukit.machine.program import Register as ProgramRegister

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.emitter import Emitter

CARRY = Register("CC.CF")  # no register of a PTX text can have this name
TYPES_WITH_CARRY = "u32 s32 u64 s64"


@instruction("addc", families=(INTEGER,))
def add_with_carry(out: Emitter, inst: Instruction) -> None:
    add(out, inst)


@instruction("subc", families=(INTEGER,))
def subtract_with_borrow(out: Emitter, inst: Instruction) -> None:
    subtract(out, inst)


def add(out: Emitter, inst: Instruction) -> None:
    """add.cc, addc and addc.cc."""
    target, dtype, a, b = _sources(out, inst)
    total(out, inst, target, dtype, a, b)


def subtract(out: Emitter, inst: Instruction) -> None:
    """sub.cc, subc and subc.cc."""
    target, dtype, a, b = _sources(out, inst)
    if inst.opcode == "subc":
        total(out, inst, target, dtype, a, compute(out, dtype, "~{0}", b))
        return
    result = compute(out, dtype, "{0} - {1}", a, b, count=1)
    _set_carry(out, "{0} >= {1}", a, b)
    out.write(target, result)


def total(out: Emitter, inst: Instruction, target: Operand, dtype: np.dtype, a: Value, b: Value) -> None:
    """target = a + b, plus the carry for an opcode that ends in c; with .cc the carry of this sum is kept. `dtype` is
    unsigned: a sum that wraps is smaller than its parts."""
    if inst.opcode.endswith("c"):
        carry = _carry(out)
        result = compute(out, dtype, "{0} + {1} + {2}", a, b, carry, count=1)
        if inst.has("cc"):
            _set_carry(out, "({0} < {1}) | ({2} & ({0} == {1}))", result, a, carry)
    else:
        result = compute(out, dtype, "{0} + {1}", a, b, count=1)
        if inst.has("cc"):
            _set_carry(out, "{0} < {1}", result, a)
    out.write(target, result)


def _sources(out: Emitter, inst: Instruction) -> tuple[Operand, np.dtype, Value, Value]:
    dtype = unsigned(expect(out, inst, TYPES_WITH_CARRY, "cc"))
    target, a, b = operands(out, inst, 3)
    return target, dtype, out.read(a, dtype), out.read(b, dtype)


def _carry(out: Emitter) -> Value:
    if CARRY.name not in out.names:
        out.registers.append(ProgramRegister(CARRY.name, BOOL))
        out.names[CARRY.name] = len(out.registers) - 1
    return out.read(CARRY, BOOL)


def _set_carry(out: Emitter, code: str, *sources: Value) -> None:
    _carry(out)
    out.alu(CARRY, BOOL, code, *sources, count=0)
