"""What an instruction may look like: its operands, types and modifiers are taken exactly or refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.ptx.syntax import TYPES, Instruction, Operand, Register
from gpukit.machine.program import Alu
from gpukit.machine.program import Operand as Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpukit.machine.frontends.ptx.emitter import Emitter

BOOL, U32 = np.dtype(bool), np.dtype(np.uint32)


def operands(out: Emitter, inst: Instruction, *counts: int) -> tuple[Operand, ...]:
    """The instruction's operands, of which there must be one of `counts`."""
    if len(inst.operands) not in counts:
        out.malformed(f"`{inst.name}` with {len(inst.operands)} operands is not PTX")
    return inst.operands


def expect(out: Emitter, inst: Instruction, types: str, *modifiers: str) -> np.dtype:
    """The dtype of the instruction's one type, which must be among `types` (separated by blanks); other modifiers than
    these are refused."""
    known(out, inst, *modifiers)
    if len(inst.types) != 1 or inst.type not in types.split():
        out.refuse(f"`{inst.name}`")
    return TYPES[inst.type]


def known(out: Emitter, inst: Instruction, *modifiers: str) -> None:
    """Refuses a modifier that is neither a type nor among these."""
    for modifier in inst.modifiers:
        if modifier not in modifiers and modifier not in TYPES:
            out.refuse(f"`.{modifier}` in `{inst.name}`")


def one_of(out: Emitter, inst: Instruction, *choices: str) -> str:
    """The one modifier of these that the instruction has."""
    found = [modifier for modifier in inst.modifiers if modifier in choices]
    if len(found) != 1:
        out.refuse(f"`{inst.name}`")
    return found[0]


def signed(dtype: np.dtype) -> np.dtype:
    """The signed integers of this size."""
    return np.dtype(f"i{dtype.itemsize}")


def unsigned(dtype: np.dtype) -> np.dtype:
    """The unsigned integers of this size."""
    return np.dtype(f"u{dtype.itemsize}")


def as_held(out: Emitter, operand: Operand, dtype: np.dtype) -> np.dtype:
    """`dtype`, or the integers of the same size and other sign if `operand`'s register holds those: for operations
    whose bits do not depend on the sign, so that neither operands nor results need a view."""
    if isinstance(operand, Register) and operand.name in out.names:
        held = out.registers[out.names[operand.name]].dtype
        if held.kind in "iu" and held.itemsize == dtype.itemsize:
            return held
    return dtype


def compute(out: Emitter, dtype: np.dtype, code: str | Callable, *sources: Value, count: int = 0) -> int:
    """A fresh register with code(sources): a step of an instruction, not its result."""
    register = out.temporary(dtype)
    out.emit(Alu(register, sources, code, out.line, count=count))
    return register
