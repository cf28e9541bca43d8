"""Finds the additions of a compiled loop that add up: a chain of sums that ends in the register it began with.

The source says `s += x` once. The compiler may unroll the loop, and then every copy but the last adds into a fresh
register (`a = s + x0; b = a + x1; s = b + x2`), where only the whole chain shows that it is a running sum.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gpukit.machine.frontends.ptx.syntax import FLOAT, Function, Instruction, Register, family

_BREAKS = ("bra", "brx", "ret", "exit", "call", "trap")


@dataclass(frozen=True)
class _Chain:
    """Sums so far: the register they began with, their source line, and the operand that carries the sum in each."""

    start: str
    place: tuple[int, int] | None
    links: dict[int, Register]


Chains = dict[str, _Chain]  # by the register they began with


def running_sums(function: Function) -> dict[int, Register]:
    """Line of the PTX text of each add, sub or fma (f16, f32, f64) that belongs to a running sum -> its accumulator."""
    writes = Counter(_target(s) for s in function.body or () if isinstance(s, Instruction))
    accumulators = {name for name, count in writes.items() if count > 1}  # most registers are written once
    found: dict[int, Register] = {}
    chains: dict[str, Chains] = {}  # register -> chains of sums it is the end of
    for statement in function.body or ():
        if not isinstance(statement, Instruction) or statement.opcode in _BREAKS:
            chains.clear()
            continue
        target = _target(statement)
        grown = _grown(statement, chains, accumulators)
        closed = grown.pop(target, None)
        if closed is not None:
            found |= closed.links
        if target in accumulators:  # chains that began with its old value never close
            for some in chains.values():
                some.pop(target, None)
        chains[target] = grown
    return found


def _target(inst: Instruction) -> str:
    """The register that an instruction writes; "" for one that writes none or several."""
    first = inst.operands[0] if inst.operands else None
    return first.name if isinstance(first, Register) else ""


def _grown(inst: Instruction, chains: dict[str, Chains], accumulators: set[str]) -> Chains:
    """The chains that end in the result of an instruction."""
    sources = [operand for operand in inst.operands[1:] if isinstance(operand, Register)]
    if inst.opcode == "mov":
        return {start: chain for source in sources for start, chain in chains.get(source.name, {}).items()}
    if inst.opcode not in ("add", "sub", "fma", "mad") or (family(inst.type) != FLOAT and inst.type != "f16"):
        return {}
    if inst.opcode in ("fma", "mad"):
        sources = [source for source in sources if source == inst.operands[3]]
    if inst.opcode == "sub":
        sources = [source for source in sources if source == inst.operands[1]]
    place = (inst.location.file, inst.location.line) if inst.location is not None else None
    grown: Chains = {}
    for source in sources:
        some = [chain for chain in chains.get(source.name, {}).values() if chain.place == place]
        if source.name in accumulators:
            some.append(_Chain(source.name, place, {}))
        for chain in some:
            grown[chain.start] = _Chain(chain.start, place, chain.links | {inst.text_line: source})
    return grown
