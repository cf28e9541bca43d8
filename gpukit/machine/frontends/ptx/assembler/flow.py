"""Control flow of a PTX function: basic blocks, dominators, and which change of a thing a statement sees.

The questions are those of static single assignment: two statements that see the same *version* of a register, or of a
memory space, and of which one dominates the other, find the same value.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from gpukit.machine.frontends.ptx.syntax import Function, Instruction, Label, Symbol

_ENDS = frozenset(("bra", "brx", "ret", "exit", "trap"))

Version = Hashable


@dataclass(slots=True)
class Block:
    """Statements `start` to `stop` (exclusive) of the body, entered at the first and left after the last."""

    start: int
    stop: int
    successors: list[int]
    predecessors: list[int]


class Flow:
    """The control flow of a function that has a body. Statements are named by their index in it."""

    def __init__(self, function: Function):
        assert function.body is not None
        self.function = function
        self.body = function.body
        self.blocks = self._split()
        self._connect()
        self.block_of = [b for b, block in enumerate(self.blocks) for _ in range(block.start, block.stop)]
        self.order = self._reverse_postorder()
        self._position = {block: i for i, block in enumerate(self.order)}
        self._dominator = self._dominators()

    # --- making it --------------------------------------------------------------------------------------------------

    def _split(self) -> list[Block]:
        starts = {0}
        for i, statement in enumerate(self.body):
            if isinstance(statement, Label):
                starts.add(i)
            elif statement.opcode in _ENDS:
                starts.add(i + 1)
        bounds = [*sorted(s for s in starts if s < len(self.body)), len(self.body)]
        return [Block(start, stop, [], []) for start, stop in itertools.pairwise(bounds)]

    def _connect(self) -> None:
        at_label = {
            self.body[block.start].name: b
            for b, block in enumerate(self.blocks)
            if isinstance(self.body[block.start], Label)
        }
        for b, block in enumerate(self.blocks):
            last = self.body[block.stop - 1]
            targets: list[int] = []
            falls = True
            if isinstance(last, Instruction) and last.opcode in _ENDS:
                falls = last.guard is not None
                names = [operand.name for operand in last.operands if isinstance(operand, Symbol)]
                if last.opcode == "brx":
                    names = [label for name in names for label in self.function.labels_of.get(name, ())]
                if last.opcode in ("bra", "brx"):
                    targets = [at_label[name] for name in names if name in at_label]
            if falls and b + 1 < len(self.blocks):
                targets.append(b + 1)
            block.successors = list(dict.fromkeys(targets))
            for target in block.successors:
                self.blocks[target].predecessors.append(b)

    def _reverse_postorder(self) -> list[int]:
        """Blocks that can be reached, each before its successors except along the way back of a loop."""
        if not self.blocks:
            return []
        seen, found = {0}, []
        stack = [(0, iter(self.blocks[0].successors))]
        while stack:
            block, rest = stack[-1]
            following = next((s for s in rest if s not in seen), None)
            if following is None:
                found.append(block)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(self.blocks[following].successors)))
        return found[::-1]

    def _dominators(self) -> dict[int, int]:
        """Immediate dominator of each block that can be reached (Cooper, Harvey and Kennedy's iteration)."""
        if not self.order:
            return {}
        found = {0: 0}
        changed = True
        while changed:
            changed = False
            for block in self.order[1:]:
                known = [p for p in self.blocks[block].predecessors if p in found]
                nearest = known[0]
                for other in known[1:]:
                    while nearest != other:
                        while self._position[nearest] > self._position[other]:
                            nearest = found[nearest]
                        while self._position[other] > self._position[nearest]:
                            other = found[other]
                if found.get(block) != nearest:
                    found[block] = nearest
                    changed = True
        return found

    # --- asking it --------------------------------------------------------------------------------------------------

    def statements(self) -> Iterable[int]:
        """Statements that can be reached, dominating ones before those that they dominate."""
        for b in self.order:
            yield from range(self.blocks[b].start, self.blocks[b].stop)

    def dominates(self, first: int, second: int) -> bool:
        """Whether every way to statement `second` has passed statement `first`, or they are the same."""
        outer, inner = self.block_of[first], self.block_of[second]
        if outer == inner:
            return first <= second
        while self._position[inner] > self._position[outer]:
            inner = self._dominator[inner]
        return inner == outer

    def versions(self, changes: Iterable[int]) -> dict[int, Version]:
        """Which change each reachable statement sees, the statement's own not included: the index of the last of
        `changes`, ("entry",) before any of them, or ("join", block) where different ones meet."""
        changing: dict[int, list[int]] = {}
        for i in sorted(changes):
            changing.setdefault(self.block_of[i], []).append(i)
        entry: dict[int, Version] = {0: ("entry",)} if self.order else {}
        leaving = dict[int, Version]()
        changed = True
        while changed:
            changed = False
            for b in self.order:
                if b != 0:
                    met = {leaving[p] for p in self.blocks[b].predecessors if p in leaving}
                    joined = entry.get(b) == ("join", b) or len(met) > 1
                    entry[b] = ("join", b) if joined else next(iter(met))
                elif len({leaving[p] for p in self.blocks[0].predecessors if p in leaving} | {("entry",)}) > 1:
                    entry[0] = ("join", 0)
                after = changing[b][-1] if b in changing else entry[b]
                if leaving.get(b) != after:
                    leaving[b] = after
                    changed = True
        seen: dict[int, Version] = {}
        for b in self.order:
            version = entry[b]
            here = set(changing.get(b, ()))
            for i in range(self.blocks[b].start, self.blocks[b].stop):
                seen[i] = version
                if i in here:
                    version = i
        return seen
