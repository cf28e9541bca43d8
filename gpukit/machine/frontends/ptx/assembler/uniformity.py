"""Which registers hold one value for all lanes of a warp, as far as the assembler can tell.

A value varies if it comes of the thread's place in its warp, of an atomic, of local memory or of a subroutine; if
one of its operands varies; or if the way a lane went decides which value it is. What votes, reductions and shuffles
from one lane give is the same in every lane. Read off ptxas 13.0 and 13.5 for sm_90 by what they do with an atomic at
such an address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from gpukit.machine.frontends.ptx.assembler.flow import Flow, Version
from gpukit.machine.frontends.ptx.assembler.merging import has_slow_path
from gpukit.machine.frontends.ptx.assembler.values import Values, registers_of, space_of, targets
from gpukit.machine.frontends.ptx.syntax import Instruction, Integer, Memory, Operand, Symbol
from gpukit.machine.lanes import WARP_SIZE

_LANE_SPECIALS = ("%laneid", "%lanemask")
_WARP_WIDE = frozenset(["vote", "redux", "activemask", "elect"])
_OF_ITS_LANE = frozenset(["atom", "call", "bar", "barrier"])


@dataclass(frozen=True, slots=True)
class _Loop:
    """Blocks of a natural loop, where it goes back from, and the edges that leave it."""

    header: int
    blocks: frozenset[int]
    latches: tuple[int, ...]
    exits: tuple[tuple[int, int], ...]


class Uniformity:
    """What of one function varies among the lanes of a warp."""

    def __init__(self, flow: Flow, values: Values):
        self.flow = flow
        self.values = values
        entry = flow.function.entry
        self._given = {parameter.name for parameter in flow.function.parameters} if entry else set[str]()
        whole_rows = entry and flow.function.limits.get("reqntid", (1,))[0] % WARP_SIZE == 0
        self._specials = ("%tid.x", *_LANE_SPECIALS) if whole_rows else ("%tid", *_LANE_SPECIALS)
        self._reached = set(flow.order)
        self._loops = _loops(flow)
        self._order = _forward_order(flow, self._loops)
        self._varying: set[tuple[str, Version]] = set()
        self._divergent: set[int] = set()  # blocks at whose end lanes part
        self._joins: set[int] = set()  # blocks where lanes meet that have come different ways
        self._rounds: set[int] = set()  # beginnings of loops that lanes go back to on different ways
        if self._order is not None:
            self._solve()

    def varies(self, operand: Operand, at: int) -> bool:
        """Whether lanes that read an operand (or the address of one) in statement `at` may find different values."""
        if self._order is None:
            return True
        return any(self._varies(name, at) for name in registers_of(operand))

    # --- values -----------------------------------------------------------------------------------------------------

    def _solve(self) -> None:
        statements = [i for i in self.flow.statements() if isinstance(self.flow.body[i], Instruction)]
        several = [name for name, written in self.values.definitions.items() if len(written) > 1]
        changed = True
        while changed:
            before = len(self._varying), len(self._divergent)
            for i in statements:
                for name in self._written_varying(i):
                    self._varying.add((name, i))
            for name in several:
                self._meet(name)
            for b in self.flow.order:
                if b not in self._divergent and self._parts(b):
                    self._divergent.add(b)
                    joins, rounds = self._joins_of(b)
                    self._joins |= joins
                    self._rounds |= rounds
            self._joins |= {loop.header for loop in self._loops if self._round_varies(loop)}
            changed = before != (len(self._varying), len(self._divergent))

    def _varies(self, name: str, at: int) -> bool:
        if name not in self.values.definitions:
            # A register of the function that nothing seems to write is the result of a barrier.
            return name in self.flow.function.registers or name.startswith(self._specials)
        return self._varies_in(name, self.values.version(name, at), self.flow.block_of[at])

    def _varies_in(self, name: str, version: Version, block: int) -> bool:
        """Whether a version of a register varies for those that read it in a block."""
        if (name, version) in self._varying:
            return True
        if isinstance(version, int):
            made = self.flow.block_of[version]
        elif isinstance(version, tuple) and version[0] == "join":
            made = version[1]
        else:
            return False
        # Lanes that leave a loop in different rounds take different values with them.
        return any(
            made in loop.blocks and block not in loop.blocks and any(u in self._divergent for u, _ in loop.exits)
            for loop in self._loops
        )

    def _written_varying(self, i: int) -> Iterator[str]:
        """Registers that statement `i` gives a value that varies."""
        inst = self.flow.body[i]
        assert isinstance(inst, Instruction)
        varying = self._result_varies(inst, i)
        for position, name in enumerate(targets(inst)):
            old = inst.guard is not None and len(self.values.definitions[name]) > 1 and self._varies(name, i)
            # The second result of an elect or shuffle is a predicate of each lane's own.
            own = position > 0 and inst.opcode in ("elect", "shfl")
            if varying or old or own:
                yield name

    def _result_varies(self, inst: Instruction, i: int) -> bool:
        if inst.guard is not None and self._varies(inst.guard[0].name, i):
            return True
        match inst.opcode:
            case opcode if opcode in _OF_ITS_LANE:
                return True
            case opcode if opcode in _WARP_WIDE:
                return False
            case "match":
                return inst.has("any")
            case "shfl":
                return self._shuffled_varies(inst, i)
            case "ld" | "ldu" if space_of(inst) == "local":
                return True
            case "ld" if space_of(inst) == "param" and isinstance(where := inst.operands[1], Memory):
                if isinstance(where.base, Symbol):
                    return where.base.name not in self._given
        if has_slow_path(inst):
            return True
        return any(self.varies(operand, i) for operand in inst.operands[1:])

    def _shuffled_varies(self, inst: Instruction, i: int) -> bool:
        _, value, source, limits, *_ = inst.operands
        if not self.varies(value, i):
            return False
        whole_warp = isinstance(limits, Integer) and limits.value >> 8 & 0x1F == 0
        return not inst.has("idx") or not whole_warp or self.varies(source, i)

    def _meet(self, name: str) -> None:
        """Where definitions of a register meet: the value varies if one of them does, or if lanes meet there that have
        come different ways."""
        for b in self.flow.order:
            start = self.flow.blocks[b].start
            version = self.values.version(name, start)
            if version != ("join", b) or (name, version) in self._varying:
                continue
            met = {p: self._left(name, p) for p in self.flow.blocks[b].predecessors if p in self._reached}
            round_trips = {v for p, v in met.items() for loop in self._loops if loop.header == b and p in loop.latches}
            differ = b in self._joins or (b in self._rounds and len(round_trips) > 1)
            if differ or any(self._varies_in(name, left, b) for left in met.values()):
                self._varying.add((name, version))

    def _left(self, name: str, block: int) -> Version:
        """The version of a register at the end of a block."""
        last = self.flow.blocks[block].stop - 1
        return last if last in self.values.definitions[name] else self.values.version(name, last)

    # --- ways -------------------------------------------------------------------------------------------------------

    def _end(self, block: int) -> tuple[int, Instruction] | None:
        """The instruction at which a block has several successors."""
        i = self.flow.blocks[block].stop - 1
        last = self.flow.body[i]
        several = len(self.flow.blocks[block].successors) > 1
        return (i, last) if several and isinstance(last, Instruction) else None

    def _parts(self, block: int) -> bool:
        """Whether lanes go different ways at the end of a block."""
        end = self._end(block)
        if end is None:
            return False
        i, last = end
        if last.guard is not None and self._varies(last.guard[0].name, i):
            return True
        return last.opcode == "brx" and any(self.varies(operand, i) for operand in last.operands)

    def _round_varies(self, loop: _Loop) -> bool:
        """Whether lanes part where a loop goes back. A test at the beginning moves to the end of the loop."""
        for latch in loop.latches:
            always = len(self.flow.blocks[latch].successors) == 1
            end = loop.header if always else latch
            if end in self._divergent and any(u == end for u, _ in loop.exits):
                return True
        return False

    def _joins_of(self, branch: int) -> tuple[set[int], set[int]]:
        """(blocks that two ways from a branch reach, which have nothing in common before; beginnings of loops that two
        such ways go back to). Going round a loop leads to all its exits."""
        assert self._order is not None
        found: set[int] = set()
        twice: set[int] = set()
        label: dict[int, int] = {}
        back: dict[int, int] = {}  # loop header -> label of a way back to it

        def reach(block: int, target: int, mark: int) -> None:
            loop = next((it for it in self._loops if it.header == target and block in it.latches), None)
            if loop is not None:
                if back.setdefault(target, mark) != mark:
                    twice.add(target)
                for _, after in loop.exits:
                    arrive(after, mark)
            else:
                arrive(target, mark)

        def arrive(target: int, mark: int) -> None:
            if label.setdefault(target, mark) != mark and label[target] != target:
                found.add(target)
                label[target] = target
            elif label[target] != mark:
                found.add(target)

        for target in self.flow.blocks[branch].successors:
            reach(branch, target, target)
        for block in self._order:
            if block in label and block != branch:
                for target in self.flow.blocks[block].successors:
                    reach(block, target, label[block])
        return found, twice


def _loops(flow: Flow) -> list[_Loop]:
    """The natural loops of a function. Edges back to one header are one loop."""
    reached = set(flow.order)
    latches: dict[int, list[int]] = {}
    for b in flow.order:
        for target in flow.blocks[b].successors:
            if flow.dominates(flow.blocks[target].start, flow.blocks[b].start):
                latches.setdefault(target, []).append(b)
    found = []
    for header, sources in latches.items():
        body = {header}
        work = [b for b in sources if b != header]
        while work:
            b = work.pop()
            if b not in body:
                body.add(b)
                work += [p for p in flow.blocks[b].predecessors if p in reached]
        exits = tuple((u, t) for u in sorted(body) for t in flow.blocks[u].successors if t not in body)
        found.append(_Loop(header, frozenset(body), tuple(sources), exits))
    return found


def _forward_order(flow: Flow, loops: list[_Loop]) -> list[int] | None:
    """Blocks that can be reached, each before its successors but for the ways back in loops, and a loop before what
    comes after it. None if there is no such order: a jump into a loop."""
    back = {(latch, loop.header) for loop in loops for latch in loop.latches}
    after: dict[int, set[int]] = {b: set() for b in flow.order}
    for b in flow.order:
        after[b] |= {t for t in flow.blocks[b].successors if (b, t) not in back}
    for loop in loops:
        for latch in loop.latches:
            after[latch] |= {t for _, t in loop.exits if (latch, t) not in back}
    try:
        return list(TopologicalSorter(after).static_order())[::-1]
    except CycleError:
        return None
