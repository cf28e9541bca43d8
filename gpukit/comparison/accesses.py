"""What a run executed, by source line and array: how many instructions, how wide, in how many loops, how often.

This is the evidence that the reasons of a comparison are drawn from. Both levels are read the same way.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpukit.machine.program import (
    GENERIC,
    LANE,
    LOCAL,
    SHARED,
    Alu,
    Atomic,
    Barrier,
    BasicBlock,
    Branch,
    Element,
    GridSync,
    Load,
    Operand,
    Special,
    Store,
)

if TYPE_CHECKING:
    from gpukit.machine.analysis import Loop
    from gpukit.machine.executor import Run
    from gpukit.machine.program import Program

BRANCHES, BARRIERS = "branches", "barriers"
Access = Load | Store | Atomic
_CHANGING = ("clock", "activemask")  # special registers that differ from one reading to the next
Line = tuple[str, int]  # file (as an absolute path), number


def place(file: str, number: int) -> Line:
    """A line as both levels call it: one may know a file by another path than the other."""
    return os.path.abspath(file), number


@dataclass(frozen=True, slots=True)
class Site:
    """A kind of instruction ("global loads", "shared stores", "branches", ...) at a source line, on one array."""

    line: Line
    what: str
    array: str = ""


@dataclass(slots=True)
class Code:
    """The instructions of one level at a site.

    `instructions` counts them in the program's text, `requests` how often warps ran them, `units` their sectors or
    wavefronts, `bytes` what the lanes asked for, `widths` the bytes per lane. `loops` are the lines of the loops around
    the instruction in the fewest loops, outermost first. `same` are the lines of other accesses to the same elements.
    `assembled` says that the assembler merged, split or dropped some of the `emitted` instructions that the compiler
    wrote. `comparisons`: of branches, the most that one of them takes the outcome of. `actions`: of atomics, what they
    do.
    """

    instructions: int = 0
    requests: int = 0
    units: int = 0
    bytes: int = 0
    widths: set[int] = field(default_factory=set)
    loops: tuple[int, ...] | None = None
    same: set[Line] = field(default_factory=set)
    assembled: bool = False
    emitted: int = 0
    comparisons: int = 0
    actions: set[object] = field(default_factory=set)

    @property
    def depth(self) -> int:
        return len(self.loops or ())


class Executed:
    """A run's instructions by site. With `by_array` accesses to different arrays are told apart."""

    def __init__(self, program: Program, run: Run, by_array: bool):
        self.program = program
        self.sites: dict[Site, Code] = {}
        # Lines with comparisons, and those whose outcome selects a value or guards an instruction: no branch needed.
        self.compares: set[Line] = set()
        self.selects: set[Line] = set()
        self.guards: set[Line] = set()
        self._run = run
        self._blocks = run.compiled.analysis.blocks
        self._by_array = by_array
        self._loops = _loops_around(self._blocks, run.compiled.analysis.loops)
        self._equal = equal_accesses(self._blocks, self._loops)
        self._tests = _Tests(program, self._blocks)
        self._read()

    @property
    def arrays(self) -> set[str]:
        """Names of the arrays that global accesses name; '' among them where one does not name any."""
        found = (op for block in self._blocks for op in block.ops if isinstance(op, Access))
        return {self.array(op) for op in found if op.space not in (SHARED, LOCAL)}

    def array(self, op: Access) -> str:
        return "" if op.root is None else self.program.roots[op.root].name

    def line(self, index: int) -> Line:
        line = self.program.lines[index]
        return place(line.file, line.number)

    def loop_lines(self) -> set[Line]:
        """Lines whose test ends a loop."""
        found = set()
        for loop in self._run.compiled.analysis.loops.values():
            for b in loop.blocks:
                end = self._blocks[b].end
                if isinstance(end, Branch) and not {end.if_true, end.if_false} <= loop.blocks:
                    found.add(self.line(end.line))
        return found

    def _read(self) -> None:
        slot = 0
        counts, level = self._run.counts, self._run.compiled.analysis.level
        for b, block in enumerate(self._blocks):
            for op in block.ops:
                if isinstance(op, Access):
                    self._access(op, b, slot)
                    slot += 1
                elif isinstance(op, Alu) and op.count:
                    if self._tests.is_test(op):
                        self.compares.add(self.line(op.line))
                    else:
                        self.selects |= {self.line(c.line) for s in op.src for c in self._tests.comparisons(s)}
            end = block.end
            if isinstance(end, Branch):
                comparisons = self._tests.comparisons(end.condition)
                if not end.count:
                    self.guards |= {self.line(comparison.line) for comparison in comparisons}
                elif isinstance(end.condition, int) and level[end.condition] == LANE:
                    code = self._add(Site(self.line(end.line), BRANCHES), b, counts.block_warps[b])
                    code.comparisons = max(code.comparisons, len(comparisons))
            elif isinstance(end, Barrier | GridSync):
                self._add(Site(self.line(end.line), BARRIERS), b, counts.barriers[b])

    def _access(self, op: Access, b: int, slot: int) -> None:
        way = {Load: "loads", Store: "stores", Atomic: "atomics"}[type(op)]
        by_space = self._run.counts.access[slot]
        widths = _widths(op)
        for space in by_space or ({op.space} - {GENERIC}):
            count = by_space.get(space)
            array = self.array(op) if self._by_array and space not in (SHARED, LOCAL) else ""
            site = Site(self.line(op.line), f"{space} {way}", array)
            code = self._add(site, b, count.requests if count else 0, len(widths))
            code.widths.update(widths)
            code.assembled |= getattr(op, "requests", None) is not None
            code.emitted += 1
            if isinstance(op, Atomic):
                code.actions.add(op.action)
            code.same |= {self.line(other.line) for other in self._equal.get(id(op), ())}
            if count is not None:
                code.units += count.units
                code.bytes += count.bytes

    def _add(self, site: Site, b: int, requests: int, instructions: int = 1) -> Code:
        code = self.sites.setdefault(site, Code())
        code.instructions += instructions
        code.requests += requests
        around = tuple(self._loop_line(loop) for loop in self._loops[b])
        if code.loops is None or len(around) < len(code.loops):
            code.loops = around
        return code

    def _loop_line(self, loop: Loop) -> int:
        """The line of a loop's test."""
        ends = (self._blocks[b].end for b in sorted(loop.blocks))
        for end in ends:
            if isinstance(end, Branch) and not {end.if_true, end.if_false} <= loop.blocks:
                return self.program.lines[end.line].number
        return self.program.lines[self._blocks[loop.header].end.line].number


def _widths(op: Access) -> list[int]:
    """Bytes per lane of each request that an access makes."""
    if isinstance(op, Atomic):
        return [op.dtype.itemsize]
    if op.requests is not None:
        return [nbytes for _, nbytes in op.requests]
    return [op.dtype.itemsize * len(op.dst if isinstance(op, Load) else op.src)]


def _loops_around(blocks: list[BasicBlock], loops: dict[int, Loop]) -> list[list[Loop]]:
    """The loops around each block, outermost first."""
    largest_first = sorted(loops.values(), key=lambda loop: -len(loop.blocks))
    return [[loop for loop in largest_first if b in loop.blocks] for b in range(len(blocks))]


class _Tests:
    """Where the bools of a program come from."""

    def __init__(self, program: Program, blocks: list[BasicBlock]):
        self._registers = program.registers
        self._writers: dict[int, list[Alu]] = {}
        for block in blocks:
            for op in block.ops:
                if isinstance(op, Alu):
                    self._writers.setdefault(op.dst, []).append(op)

    def is_test(self, op: Alu) -> bool:
        return self._registers[op.dst].dtype.kind == "b"

    def comparisons(self, operand: Operand) -> list[Alu]:
        """The comparisons that a bool comes from; none for anything but a bool."""
        if not isinstance(operand, int) or self._registers[operand].dtype.kind != "b":
            return []
        found: dict[int, Alu] = {}
        seen = {operand}
        stack = [operand]
        while stack:
            for writer in self._writers.get(stack.pop(), ()):
                # Bools that are combined, or one that is looked at as another type or turned around.
                sources = {source for source in writer.src if isinstance(source, int)}
                bools = {source for source in sources if self._registers[source].dtype.kind == "b"}
                if writer.count and not bools:
                    found[id(writer)] = writer
                further = (bools if writer.count else sources) - seen
                seen |= further
                stack += further
        return list(found.values())


# --- accesses to the same elements -----------------------------------------------------------------------------------


def equal_accesses(blocks: list[BasicBlock], around: list[list[Loop]]) -> dict[int, list[Access]]:
    """id of an access -> other accesses that surely go to the same elements of the same array.

    Two accesses do if they stand in the same loops (`around`, by block) and their indices are the same expression of
    registers that are written once, or of registers that nothing writes between the two.
    """
    return _EqualAccesses(blocks, around).found


class _EqualAccesses:
    """Numbers expressions, so that equal ones have equal numbers."""

    def __init__(self, blocks: list[BasicBlock], around: list[list[Loop]]):
        self.found: dict[int, list[Access]] = {}
        self._numbers: dict[tuple, int] = {}
        self._writes = Counter(r for block in blocks for op in (*block.ops, block.end) for r in _targets(op))
        self._everywhere: dict[tuple, list[Access]] = {}
        self._lasting: dict[int, int] = {}  # register -> its expression, where that holds wherever it is read
        for b, block in enumerate(blocks):
            self._block(block, tuple(loop.header for loop in around[b]))

    def _block(self, block: BasicBlock, loops: tuple[int, ...]) -> None:
        here: dict[tuple, list[Access]] = {}
        current: dict[int, int] = {}  # register -> its expression, since its last write in this block
        for op in block.ops:
            if isinstance(op, Access) and isinstance(op.place, Element):
                parts = [self._expression(operand, current) for operand in (op.place.base, *op.place.index)]
                known = self._everywhere if all(lasting for _, lasting in parts) else here
                key = (loops, op.root, op.dtype, op.place.offset, tuple(part for part, _ in parts))
                for other in known.setdefault(key, []):
                    self.found.setdefault(id(op), []).append(other)
                    self.found.setdefault(id(other), []).append(op)
                known[key].append(op)
            for register in _targets(op):
                current[register] = self._number("result", id(op), register)
            if isinstance(op, Alu):
                sources = [self._expression(operand, current) for operand in op.src]
                made = self._number(op.code, *(part for part, _ in sources))
                lasts = all(lasting for _, lasting in sources)
            elif isinstance(op, Special) and op.name not in _CHANGING:
                made, lasts = self._number(op.name), True
            else:
                continue
            current[op.dst] = made
            if lasts and self._writes[op.dst] == 1:
                self._lasting[op.dst] = made

    def _expression(self, operand: Operand, current: dict[int, int]) -> tuple[int, bool]:
        """(what an operand is, whether it is that wherever it is read)."""
        if not isinstance(operand, int):
            return self._number("constant", operand.value.dtype, operand.value.tobytes()), True
        once = self._writes[operand] <= 1
        if once and operand in self._lasting:
            return self._lasting[operand], True
        written_here = current.get(operand)
        if written_here is not None:
            return written_here, False
        return self._number("register", operand), once

    def _number(self, *expression: object) -> int:
        return self._numbers.setdefault(expression, len(self._numbers))


def _targets(op: object) -> tuple[int, ...]:
    target = getattr(op, "dst", None)
    if target is None:
        return ()
    return target if isinstance(target, tuple) else (target,)
