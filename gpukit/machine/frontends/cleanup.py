"""Tidies what a front end wrote: joins blocks, drops what nothing reads, and lets copies share a register.

Nothing here changes what a program does or counts: only operations that stand for nothing the user wrote go.
"""

from __future__ import annotations

import math
from dataclasses import replace

from gpukit.machine.analysis import defines, liveness, successors, uses
from gpukit.machine.program import (
    Address,
    Alu,
    Atomic,
    BasicBlock,
    Branch,
    Call,
    Element,
    Jump,
    Load,
    Op,
    Operand,
    Place,
    Register,
    Root,
    Special,
    Store,
    Terminator,
)

COPY = "{0}"  # the code of an Alu that copies; a front end's copies count as nothing
MAX_REGISTERS = 20_000  # above this the conflicts take too much memory, and copies stay


def tidy(
    blocks: list[BasicBlock], registers: list[Register], results: dict[int, tuple[int, ...]], fixed: set[int]
) -> tuple[list[BasicBlock], dict[int, int]]:
    """(blocks, new number of each register that is left). `results` are the result registers of the calls by block,
    `fixed` the registers that the launch fills."""
    _skip_empty(blocks)
    _join_chains(blocks)
    blocks, numbers = _reachable(blocks)
    results = {numbers[block]: found for block, found in results.items() if block in numbers}
    _drop_unread(blocks)
    _share(blocks, registers, fixed | {register for found in results.values() for register in found})
    _join_chains(blocks)
    blocks, numbers = _reachable(blocks)
    results = {numbers[block]: found for block, found in results.items() if block in numbers}
    _set_saved(blocks, results)
    mentioned = {r for block in blocks for op in (*block.ops, block.end) for r in (*uses(op), *defines(op))}
    renumbered = {old: new for new, old in enumerate(sorted(mentioned | fixed))}
    _rename(blocks, renumbered)
    return blocks, renumbered


# --- the graph -------------------------------------------------------------------------------------------------------


def _targets(end: Terminator, new: dict[int, int]) -> Terminator:
    names = [name for name in ("target", "if_true", "if_false", "entry") if hasattr(end, name)]
    changed = {name: new[getattr(end, name)] for name in names if new.get(getattr(end, name), -1) >= 0}
    return replace(end, **changed) if changed else end  # type: ignore[arg-type]


def _skip_empty(blocks: list[BasicBlock]) -> None:
    """Edges to a block that only jumps forward go to where it jumps. Back edges stay: they are the loops' latches."""
    onward: dict[int, int] = {}
    for number, block in enumerate(blocks):
        if number and not block.ops and isinstance(block.end, Jump) and block.end.target > number:
            onward[number] = block.end.target

    def final(number: int) -> int:
        while number in onward:
            number = onward[number]
        return number

    if onward:
        new = {number: final(number) for number in onward}
        for block in blocks:
            block.end = _targets(block.end, new)


def _join_chains(blocks: list[BasicBlock]) -> None:
    """A block with one way in, at the end of one with one way out, becomes part of it."""
    entries = [0] * len(blocks)
    entries[0] = 1
    reached = _reached(blocks)
    for number in reached:
        for target in successors(blocks[number].end):
            entries[target] += 1
    for number in sorted(reached):
        block = blocks[number]
        while isinstance(block.end, Jump) and entries[block.end.target] == 1 and block.end.target != number:
            follower = blocks[block.end.target]
            if isinstance(follower.end, Call):
                break  # its number is known to the caller's table
            block.ops += follower.ops
            block.end = follower.end


def _reached(blocks: list[BasicBlock]) -> set[int]:
    seen, stack = {0}, [0]
    while stack:
        for target in successors(blocks[stack.pop()].end):
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return seen


def _reachable(blocks: list[BasicBlock]) -> tuple[list[BasicBlock], dict[int, int]]:
    kept = sorted(_reached(blocks))
    numbers = {old: new for new, old in enumerate(kept)}
    out = [blocks[old] for old in kept]
    for block in out:
        block.end = _targets(block.end, numbers)
    return out, numbers


# --- operations nobody reads -----------------------------------------------------------------------------------------


def _drop_unread(blocks: list[BasicBlock]) -> None:
    readers: dict[int, int] = {}
    for block in blocks:
        for op in (*block.ops, block.end):
            for register in uses(op):
                readers[register] = readers.get(register, 0) + 1

    def unread(op: Op) -> bool:
        if isinstance(op, Special):
            return op.dst not in readers
        return isinstance(op, Alu) and op.count == 0 and op.check is None and op.dst not in readers

    changed = True
    while changed:
        changed = False
        for block in blocks:
            kept: list[Op] = []
            for op in reversed(block.ops):
                if unread(op):
                    changed = True
                    for register in uses(op):
                        readers[register] -= 1
                        if not readers[register]:
                            del readers[register]
                else:
                    kept.append(op)
            kept.reverse()
            block.ops = kept
    for block in blocks:
        for op in block.ops:
            if isinstance(op, Atomic) and op.dst is not None and op.dst not in readers:
                op.dst = None


# --- copies ----------------------------------------------------------------------------------------------------------


def _share(blocks: list[BasicBlock], registers: list[Register], fixed: set[int]) -> None:
    """Where a copy's two registers are never needed at the same time, they become one and the copy goes."""
    copies = [
        op
        for block in blocks
        for op in block.ops
        if isinstance(op, Alu) and op.code == COPY and op.count == 0 and isinstance(op.src[0], int)
    ]
    if not copies or len(registers) > MAX_REGISTERS:
        return
    conflicts = _conflicts(blocks, len(registers))
    group = list(range(len(registers)))
    members = {r: 1 << r for op in copies for r in (op.dst, op.src[0]) if isinstance(r, int)}

    def leader(register: int) -> int:
        while group[register] != register:
            register = group[register]
        return register

    for op in copies:
        assert isinstance(op.src[0], int)
        a, b = leader(op.dst), leader(op.src[0])
        if a == b or registers[a].dtype != registers[b].dtype or a in fixed or b in fixed:
            continue
        if conflicts[a] & members[b] or conflicts[b] & members[a]:
            continue
        if registers[b].name and not registers[a].name:
            a, b = b, a
        group[b] = a
        members[a] |= members[b]
        conflicts[a] |= conflicts[b]
    new = {register: leader(register) for register in range(len(group)) if leader(register) != register}
    if new:
        _rename(blocks, new)
        for block in blocks:
            block.ops = [
                op for op in block.ops if not (isinstance(op, Alu) and op.code == COPY and op.src == (op.dst,))
            ]


def _conflicts(blocks: list[BasicBlock], n_registers: int) -> list[int]:
    """For each register the set (as bits) of those that hold another value while it is needed."""
    live = liveness(blocks)
    conflicts = [0] * n_registers
    for number, block in enumerate(blocks):
        alive = 0
        for register in live.live_out[number]:
            alive |= 1 << register
        for op in (block.end, *reversed(block.ops)):
            defined = defines(op)
            for register in defined:
                alive &= ~(1 << register)
            others = alive
            if isinstance(op, Alu) and op.code == COPY and op.count == 0 and isinstance(op.src[0], int):
                others &= ~(1 << op.src[0])
            for register in defined:
                together = others
                for sibling in defined:
                    if sibling != register:
                        together |= 1 << sibling
                conflicts[register] |= together
                mine = 1 << register
                while together:
                    low = together & -together
                    conflicts[low.bit_length() - 1] |= mine
                    together ^= low
            for register in uses(op):
                alive |= 1 << register
    return conflicts


def _rename(blocks: list[BasicBlock], new: dict[int, int]) -> None:
    def operand(value: Operand) -> Operand:
        return new.get(value, value) if isinstance(value, int) else value

    def several(values: tuple[Operand, ...]) -> tuple[Operand, ...]:
        return tuple(operand(value) for value in values)

    def place(where: Place) -> Place:
        if isinstance(where, Address):
            return replace(where, address=operand(where.address))
        return Element(
            operand(where.base), several(where.index), several(where.shape), several(where.strides),
            where.name, where.offset,
        )  # fmt: skip

    for block in blocks:
        for op in (*block.ops, block.end):
            if hasattr(op, "src") and op.src is not None:
                op.src = several(op.src) if isinstance(op.src, tuple) else operand(op.src)
            if hasattr(op, "dst") and op.dst is not None:
                op.dst = several(op.dst) if isinstance(op.dst, tuple) else operand(op.dst)
            if hasattr(op, "place"):
                op.place = place(op.place)
            if hasattr(op, "parts"):
                op.parts = tuple(part if isinstance(part, str) else operand(part) for part in op.parts)
            if isinstance(op, Branch):
                op.condition = operand(op.condition)
            if isinstance(op, Call):
                op.save = tuple(new.get(register, register) for register in op.save)


# --- calls and memory ------------------------------------------------------------------------------------------------


def _set_saved(blocks: list[BasicBlock], results: dict[int, tuple[int, ...]]) -> None:
    """A call keeps what its caller still needs and the callee (perhaps the same function) overwrites."""
    calls = [(number, block.end) for number, block in enumerate(blocks) if isinstance(block.end, Call)]
    if not calls:
        return
    live = liveness(blocks)
    for number, call in calls:
        written: set[int] = set()
        seen, stack = {call.entry}, [call.entry]
        while stack:
            inside = stack.pop()
            written |= live.defined[inside]
            for target in successors(blocks[inside].end):
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
        call.save = tuple(sorted((live.live_in[call.target] & written) - set(results.get(number, ()))))


def mark_roots(blocks: list[BasicBlock], roots: list[Root]) -> None:
    """Which roots are read and written, and the smallest unit each is accessed in."""
    widths: dict[int, int] = {}
    for root in roots:
        root.read = root.written = False
    for block in blocks:
        for op in block.ops:
            if not isinstance(op, Load | Store | Atomic):
                continue
            reads, writes = not isinstance(op, Store), not isinstance(op, Load)
            touched = range(len(roots)) if op.root is None else (op.root,)
            for number in touched:
                root = roots[number]
                if op.root is None and op.space not in ("generic", root.space):
                    continue
                root.read = root.read or reads
                root.written = root.written or writes
                offset = op.place.offset
                widths[number] = math.gcd(widths.get(number, 0), op.dtype.itemsize, offset)
    for number, width in widths.items():
        roots[number].element = math.gcd(width, roots[number].dtype.itemsize) or 1
