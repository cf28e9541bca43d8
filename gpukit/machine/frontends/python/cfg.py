"""One Python function as a control-flow graph of untyped instructions in SSA form.

Every instruction defines at most one value, named by a number; a variable that several definitions reach is read
through a `Phi`. `lowering` builds it from the syntax tree, `inference` gives the values types, `emit` turns both into
machine operations.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Instruction:
    """result = op(args). `detail` is what is known from the syntax: an attribute's name, an operator, a constant."""

    op: str
    args: tuple[int, ...]
    result: int
    line: int
    detail: object = None


@dataclass(slots=True)
class Phi:
    """The definition of `variable` that reaches a block, by the block it comes from."""

    result: int
    variable: str
    sources: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Goto:
    target: int
    line: int


@dataclass(slots=True)
class Test:
    """Lanes where `condition` (already a truth value) holds go to if_true. `counted`: a test the user wrote."""

    condition: int
    if_true: int
    if_false: int
    line: int
    counted: bool = True


@dataclass(slots=True)
class Leave:
    """Return from the function. `value` is None for a bare return. `halt`: the thread ends (after a raise)."""

    value: int | None
    line: int
    halt: bool = False


@dataclass(slots=True)
class Block:
    phis: list[Phi] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    end: Goto | Test | Leave | None = None
    predecessors: list[int] = field(default_factory=list)

    @property
    def successors(self) -> tuple[int, ...]:
        if isinstance(self.end, Goto):
            return (self.end.target,)
        if isinstance(self.end, Test):
            return (self.end.if_true, self.end.if_false)
        return ()


@dataclass(slots=True)
class Body:
    """A function's graph. Block 0 is the entry; `parameters` are the values of the arguments, in order;
    `names[v]` is the variable value v was first assigned to, or ''. `order` lists the blocks in source order;
    `undefined` are the values no path defines."""

    blocks: list[Block]
    parameters: list[int]
    names: list[str]
    order: list[int]
    undefined: set[int]


def _shown(variable: str) -> str:
    """A variable's name as the user knows it: names that start with a dot are the compiler's own."""
    return "" if variable.startswith(".") else variable


class SsaBuilder:
    """Blocks under construction, and which definition of each variable reaches where.

    Reading a variable walks back to its definitions and places phis only where several meet (Braun et al., "Simple
    and Efficient Construction of Static Single Assignment Form", 2013). A block is sealed when no further
    predecessor will be added.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.names: list[str] = []
        self.order: list[int] = []
        self._definitions: list[dict[str, int]] = []
        self._sealed: list[bool] = []
        self._incomplete: list[dict[str, Phi]] = []
        self.undefined: set[int] = set()
        self.current: int | None = None  # None: the code being lowered cannot be reached

    def new_value(self, name: str = "") -> int:
        self.names.append(name)
        return len(self.names) - 1

    def new_block(self) -> int:
        self.blocks.append(Block())
        self._definitions.append({})
        self._sealed.append(False)
        self._incomplete.append({})
        return len(self.blocks) - 1

    def start(self, block: int) -> None:
        """Go on in `block`, if anything leads there."""
        reachable = block == 0 or self.blocks[block].predecessors
        self.current = block if reachable else None
        if reachable:
            self.order.append(block)

    def emit(self, op: str, args: tuple[int, ...], line: int, detail: object = None) -> int:
        result = self.new_value()
        if self.current is not None:
            self.blocks[self.current].instructions.append(Instruction(op, args, result, line, detail))
        return result

    def end(self, terminator: Goto | Test | Leave) -> None:
        """Close the current block."""
        if self.current is None:
            return
        block = self.blocks[self.current]
        block.end = terminator
        for successor in dict.fromkeys(block.successors):
            self.blocks[successor].predecessors.append(self.current)
        self.current = None

    def write(self, variable: str, value: int) -> None:
        if self.current is None:
            return
        self._definitions[self.current][variable] = value
        if not self.names[value]:
            self.names[value] = _shown(variable)

    def read(self, variable: str) -> int:
        if self.current is None:
            return self.new_value(variable)
        return self._read(variable, self.current)

    def seal(self, block: int) -> None:
        self._sealed[block] = True
        for variable, phi in self._incomplete[block].items():
            self._fill(block, variable, phi)
        self._incomplete[block].clear()

    def _read(self, variable: str, block: int) -> int:
        found = self._definitions[block].get(variable)
        if found is not None:
            return found
        predecessors = self.blocks[block].predecessors
        if not self._sealed[block]:
            phi = self._new_phi(block, variable)
            self._incomplete[block][variable] = phi
            value = phi.result
        elif len(predecessors) == 1:
            value = self._read(variable, predecessors[0])
        elif not predecessors:
            value = self.new_value(variable)
            self.undefined.add(value)
        else:
            phi = self._new_phi(block, variable)
            self._definitions[block][variable] = phi.result
            self._fill(block, variable, phi)
            value = phi.result
        self._definitions[block][variable] = value
        return value

    def _new_phi(self, block: int, variable: str) -> Phi:
        phi = Phi(self.new_value(_shown(variable)), variable)
        self.blocks[block].phis.append(phi)
        return phi

    def _fill(self, block: int, variable: str, phi: Phi) -> None:
        for predecessor in self.blocks[block].predecessors:
            phi.sources[predecessor] = self._read(variable, predecessor)

    def finish(self, parameters: list[int]) -> Body:
        self._drop_trivial_phis()
        return Body(self.blocks, parameters, self.names, self.order, self.undefined)

    def _drop_trivial_phis(self) -> None:
        """Replace phis whose sources are one value (and themselves) by that value, until none is left."""
        replaced: dict[int, int] = {}

        def final(value: int) -> int:
            while value in replaced:
                value = replaced[value]
            return value

        changed = True
        while changed:
            changed = False
            for block in self.blocks:
                kept = []
                for phi in block.phis:
                    sources = {final(source) for source in phi.sources.values()} - {phi.result}
                    if len(sources) == 1:
                        replaced[phi.result] = sources.pop()
                        changed = True
                    else:
                        kept.append(phi)
                block.phis = kept
        if not replaced:
            return
        for block in self.blocks:
            for phi in block.phis:
                phi.sources = {where: final(source) for where, source in phi.sources.items()}
            for instruction in block.instructions:
                instruction.args = tuple(final(arg) for arg in instruction.args)
            if isinstance(block.end, Test):
                block.end.condition = final(block.end.condition)
            elif isinstance(block.end, Leave) and block.end.value is not None:
                block.end.value = final(block.end.value)
