"""Finds the reads of a compare-and-swap loop: `old = *p; do { seen = old; old = atomicCAS(p, seen, f(seen)); } ...`.

Such a read may be plain though others update the place meanwhile: if it was out of date the swap fails and its result
is used instead. It is the documented way to make an atomic operation that hardware lacks, so it is no race.
"""

from __future__ import annotations

from gpukit.machine.frontends.ptx.syntax import Function, Instruction, Memory, Operand, Register

_COPIES = ("mov", "cvta")


def guarded_reads(function: Function) -> set[int]:
    """Lines of the PTX text of loads whose value is the compare operand of a cas at the same address."""
    copies: dict[str, list[Operand]] = {}  # register -> what it is a copy of, at one place or another
    loads: dict[str, list[Instruction]] = {}  # register -> the loads into it
    swaps: list[Instruction] = []
    for inst in function.body or ():
        if not isinstance(inst, Instruction):
            continue
        if inst.opcode == "atom" and inst.has("cas"):
            swaps.append(inst)
        target = inst.operands[0] if inst.operands else None
        if isinstance(target, Register):
            if inst.opcode in _COPIES and len(inst.operands) == 2:
                copies.setdefault(target.name, []).append(inst.operands[1])
            elif inst.opcode == "ld":
                loads.setdefault(target.name, []).append(inst)

    def origins(name: str) -> set[str]:
        """The register and all it may be a copy of."""
        seen, stack = {name}, [name]
        while stack:
            for source in copies.get(stack.pop(), ()):
                if isinstance(source, Register) and source.name not in seen:
                    seen.add(source.name)
                    stack.append(source.name)
        return seen

    def place(where: Operand) -> tuple[frozenset[str], int] | None:
        if not isinstance(where, Memory) or not isinstance(where.base, Register):
            return None
        return frozenset(origins(where.base.name)), where.offset

    found: set[int] = set()
    for swap in swaps:
        where, compare = place(swap.operands[1]), swap.operands[2]
        if where is None or not isinstance(compare, Register):
            continue
        for name in origins(compare.name):
            for load in loads.get(name, ()):
                there = place(load.operands[1])
                if there is not None and there[1] == where[1] and there[0] & where[0]:
                    found.add(load.text_line)
    return found
