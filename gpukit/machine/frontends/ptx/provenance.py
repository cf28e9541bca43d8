"""Which array a pointer points into, as far as the code itself shows it.

A pointer comes from a parameter or a variable and goes through additions, conversions and selections. Where a register
can only hold pointers into one array, an access through it is checked against this very array; where it can hold
several, or comes out of memory, the machine looks the address up.
"""

from __future__ import annotations

from collections.abc import Callable

from gpukit.machine.frontends.ptx.syntax import (
    Function,
    Instruction,
    Memory,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)

SEVERAL = -1
_CARRY = frozenset(["mov", "cvta", "cvt", "add", "sub", "mad", "selp", "and", "or", "shfl"])


def roots(
    function: Function, parameter: Callable[[str, int], int | None], variable: Callable[[str], int | None]
) -> dict[str, int]:
    """register -> number of the one root it points into, or SEVERAL; registers that hold no pointer are missing.

    `parameter(name, offset)` gives the root of a pointer parameter, `variable(name)` that of a variable.
    """
    found: dict[str, int] = {}

    def of(operand: Operand) -> int | None:
        if isinstance(operand, Register):
            return found.get(operand.name)
        return variable(operand.name) if isinstance(operand, Symbol) else None

    def learn(target: Operand, root: int | None) -> bool:
        if root is None:
            return False
        if isinstance(target, Pair):
            target = target.first
        if not isinstance(target, Register):
            return False
        before = found.get(target.name)
        after = root if before is None or before == root else SEVERAL
        found[target.name] = after
        return after != before

    instructions = [inst for inst in function.body or () if isinstance(inst, Instruction) and inst.operands]
    changed = True
    while changed:
        changed = False
        for inst in instructions:
            if inst.opcode == "ld" and inst.has("param"):
                source = inst.operands[1]
                if isinstance(source, Memory) and isinstance(source.base, Symbol):
                    targets = inst.operands[0]
                    items = targets.items if isinstance(targets, Vector) else (targets,)
                    for i, item in enumerate(items):
                        changed |= learn(item, parameter(source.base.name, source.offset + 8 * i))
            elif inst.opcode in _CARRY:
                sources = [root for root in map(of, inst.operands[1:]) if root is not None]
                if inst.opcode == "sub" and len(sources) > 1:
                    continue  # a distance, not a place
                for root in sources:
                    changed |= learn(inst.operands[0], root)
    return found
