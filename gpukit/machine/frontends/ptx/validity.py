"""What every instruction must have, so that what works on them need not ask: a type, and enough operands.

A compiler's PTX always has both; assembly written by hand (inline `asm`, a saved file) may not.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpukit.machine.frontends.ptx.instructions import table
from gpukit.machine.frontends.ptx.syntax import Function, Instruction, Memory, Symbol, Vector

# Opcodes without a type; all others need one.
_UNTYPED = frozenset(
    (
        "bra", "brx", "ret", "exit", "trap", "call", "bar", "barrier", "membar", "fence", "prefetch", "prefetchu",
        "discard", "applypriority", "createpolicy", "cp", "isspacep", "nanosleep", "pmevent", "brkpt", "griddepcontrol",
        "setmaxnreg", "elect", "vote", "activemask",
    )
)  # fmt: skip
# Fewest operands; an instruction that computes has a destination and a source at least.
_LEAST = {
    **dict.fromkeys(("ret", "exit", "trap", "bar", "barrier", "membar", "fence", "cp", "nanosleep", "brkpt"), 0),
    **dict.fromkeys(("pmevent", "griddepcontrol", "setmaxnreg", "prefetch", "prefetchu"), 0),
    **dict.fromkeys(("discard", "applypriority"), 0),
    **dict.fromkeys(("bra", "call", "activemask", "createpolicy"), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "rem", "min", "max", "setp", "atom", "match", "redux"), 3),
    **dict.fromkeys(("fma", "mad", "shfl"), 4),
}  # fmt: skip
_DEFAULT_LEAST = 2


def faults(function: Function) -> Iterator[tuple[Instruction, str]]:
    """(instruction, what is wrong with it) of each instruction that lacks something."""
    for inst in function.body or ():
        if not isinstance(inst, Instruction):
            continue
        name = f"`{inst.name}`"
        least = _LEAST.get(inst.opcode, _DEFAULT_LEAST)
        if inst.opcode == "atom" and inst.has("cas"):
            least = 4
        if not inst.type and inst.opcode not in _UNTYPED and table.known(inst.opcode):
            yield inst, f"{name} needs a type, such as {inst.opcode}.u32"
        elif len(inst.operands) < least and table.known(inst.opcode):
            plural = "operand" if least == 1 else "operands"
            yield inst, f"{name} needs {least} {plural}, {len(inst.operands)} are given"
        elif inst.opcode == "bra" and not isinstance(inst.operands[0], Symbol):
            yield inst, f"{name} needs a label"
        elif inst.opcode == "st" and inst.has("param") and not _names_parameter(inst):
            yield inst, f"{name} needs the name of a parameter"
        elif any(isinstance(operand, Vector) and not operand.items for operand in inst.operands[:1]) and (
            inst.opcode in ("ld", "st", "mov")
        ):
            yield inst, f"{name} has an empty vector"


def _names_parameter(inst: Instruction) -> bool:
    where = inst.operands[0]
    return isinstance(where, Memory) and isinstance(where.base, Symbol)
