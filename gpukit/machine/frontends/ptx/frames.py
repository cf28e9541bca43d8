"""What lowering knows of one function of a kernel, and what can be read from its code alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpukit.machine.frontends.ptx.slots import Slots
from gpukit.machine.frontends.ptx.syntax import (
    Function,
    Instruction,
    Integer,
    Memory,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)


@dataclass
class Frame:
    """One instance of a function in the program."""

    function: Function
    key: str
    names: dict[str, int]
    labels: dict[str, int]
    slots: dict[str, Slots]
    after: int | None = None  # block to go on with at `ret`; None in a kernel and in a subroutine
    subroutine: bool = False
    roots: dict[str, int] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    constants: dict[str, Symbol] = field(default_factory=dict)
    running_sums: dict[int, Register] = field(default_factory=dict)
    guarded_reads: set[int] = field(default_factory=set)
    stack: int | None = None  # register with the byte offset of a subroutine's local memory


def symbols(function: Function) -> set[str]:
    """Names of all variables, functions and labels that a function mentions."""
    found: set[str] = set()

    def look(operand: object) -> None:
        if isinstance(operand, Symbol):
            found.add(operand.name)
        elif isinstance(operand, Memory):
            look(operand.base)
        elif isinstance(operand, Vector):
            for item in operand.items:
                look(item)

    for statement in function.body or ():
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                look(operand)
    for names in function.labels_of.values():
        found.update(names)
    return found


def callees(function: Function, module: Module) -> set[str]:
    """Functions that a function may call: those it names, and any whose address is taken if it calls a pointer."""
    names = {
        operand.name
        for inst in function.body or ()
        if isinstance(inst, Instruction) and inst.opcode == "call"
        for operand in inst.operands
        if isinstance(operand, Symbol)
    }
    return names | {name for label in function.labels_of.values() for name in label if name in module.functions}


def constants(function: Function) -> dict[str, Symbol]:
    """register -> the variable whose address it holds, for registers that are written once."""
    writes: dict[str, int] = {}
    copies: dict[str, Operand] = {}
    for inst in function.body or ():
        if not isinstance(inst, Instruction) or not inst.operands:
            continue
        target = inst.operands[0]
        if isinstance(target, Register):
            writes[target.name] = writes.get(target.name, 0) + 1
            if inst.opcode in ("mov", "cvta") and len(inst.operands) == 2:
                copies[target.name] = inst.operands[1]
    found: dict[str, Symbol] = {}
    for name in copies:
        operand: Operand = Register(name)
        steps = 0
        while isinstance(operand, Register) and writes.get(operand.name) == 1 and steps < 8:
            operand = copies.get(operand.name, Integer(0))
            steps += 1
        if isinstance(operand, Symbol):
            found[name] = operand
    return found
