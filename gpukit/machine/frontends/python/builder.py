"""Where operations go: `Builder` writes machine operations, `Typist` only says what type each would give.

The rules of the language (`operations`, `arrays`, `intrinsics`) are written once against this interface. Inference
runs them with a `Typist` until the types stand still; `emit` runs them again with a `Builder`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from gpukit.machine.frontends.cleanup import COPY
from gpukit.machine.frontends.python import types
from gpukit.machine.frontends.python.values import BOOL, INT64, UNKNOWN, Array, Scalar, Value, integer
from gpukit.machine.program import (
    Alu,
    Atomic,
    Barrier,
    BasicBlock,
    Branch,
    Const,
    Element,
    Exit,
    Fence,
    GridSync,
    Jump,
    Load,
    Op,
    Operand,
    Print,
    Raise,
    Register,
    Return,
    Root,
    SourceLine,
    Special,
    Store,
    Terminator,
    WarpSync,
)


@cache
def _compiled(code: str, operands: int) -> Callable:
    names = [f"x{i}" for i in range(operands)]
    return eval(f"lambda {', '.join(names)}: {code.format(*names)}", {"np": np})


def _pick(code: Callable, position: int, *operands: np.generic | np.ndarray) -> np.generic | np.ndarray:
    return code(*operands)[position]


@dataclass(slots=True)
class Memory:
    """The pieces of memory a kernel names, shared by inference and emission."""

    roots: list[Root] = field(default_factory=list)
    shared_bytes: int = 0
    local_bytes: int = 0
    by_place: dict[tuple, int] = field(default_factory=dict)  # where in the source -> root
    # id(the host's array) -> (root, frozen copy, the host's array, kept alive so that the id stays its own)
    constants: dict[int, tuple[int, np.ndarray, np.ndarray]] = field(default_factory=dict)

    def add(self, root: Root) -> int:
        self.roots.append(root)
        return len(self.roots) - 1


class Typist:
    """Gives every operation's result a type and forgets the operation."""

    recording = False

    def __init__(self, memory: Memory):
        self.memory = memory
        self.line = 0

    # --- values ----------------------------------------------------------------------------------------------------

    def alu(
        self,
        code: str | Callable,
        operands: Sequence[Scalar],
        dtype: np.dtype,
        check: str | None = None,
        count: int = 0,
    ) -> Scalar:
        """code(operands), of `dtype`. Done here and now when every operand is a constant."""
        known = [x.constant for x in operands]
        if known and all(x is not None for x in known):
            with np.errstate(all="ignore"):
                result = (_compiled(code, len(known)) if isinstance(code, str) else code)(*known)
            lost = check == "narrow" and result != known[0]
            if not lost:  # a constant that does not fit is left to the machine to report
                return Scalar(dtype, Const(dtype.type(result)))
        return self._alu(code, operands, dtype, check, count)

    def _alu(
        self, code: str | Callable, operands: Sequence[Scalar], dtype: np.dtype, check: str | None, count: int
    ) -> Scalar:
        return Scalar(dtype, UNKNOWN)

    def cast(self, value: Scalar, dtype: np.dtype, check: str | None = None, count: int = 0) -> Scalar:
        """The value converted to dtype (nothing when it has it already)."""
        code = types.cast(value.dtype, dtype)
        return value if code is None else self.alu(code, (value,), dtype, check, count)

    def apply(self, rule: types.Rule, operands: Sequence[Scalar], check: str | None = None, count: int = 1) -> Scalar:
        """An operation of `types` or `functions`: operands converted as the rule says, then its code."""
        converted = [self.cast(x, dtype) for x, dtype in zip(operands, rule.operands, strict=True)]
        wanted = check or rule.check
        if wanted == "int_div" and converted[1].constant is not None and converted[1].constant != 0:
            wanted = None
        return self.alu(rule.code, converted, rule.result, wanted, count)

    def apply_all(self, rule: types.Rule, operands: Sequence[Scalar]) -> list[Scalar]:
        """As `apply`, for a function that may have several results."""
        if len(rule.results) == 1:
            return [self.apply(rule, operands)]
        converted = [self.cast(x, dtype) for x, dtype in zip(operands, rule.operands, strict=True)]
        assert callable(rule.code)
        return [
            self.alu(partial(_pick, rule.code, i), converted, dtype, rule.check if i == 0 else None, int(i == 0))
            for i, dtype in enumerate(rule.results)
        ]

    def special(self, name: str, dtype: np.dtype) -> Scalar:
        return Scalar(dtype, UNKNOWN)

    def base_of(self, root: int) -> Scalar:
        """The address of a global root, which the launch puts in a register."""
        return Scalar(INT64, UNKNOWN)

    def extent_of(self, root: int) -> Scalar:
        """How many elements a dynamic shared array has in this launch."""
        return Scalar(INT64, UNKNOWN)

    # --- memory ----------------------------------------------------------------------------------------------------

    def load(self, place: Element, array: Array, dtype: np.dtype, n: int = 1, volatile: bool = False) -> list[Scalar]:
        return [Scalar(dtype, UNKNOWN)] * n

    def store(
        self, place: Element, array: Array, dtype: np.dtype, source: Sequence[Scalar], volatile: bool = False
    ) -> None:
        """Sources must have `dtype` already."""

    def atomic(self, action: str, place: Element, array: Array, dtype: np.dtype, source: Sequence[Scalar]) -> Scalar:
        return Scalar(dtype, UNKNOWN)

    def fence(self, scope: str) -> None: ...

    def print(self, parts: Sequence[str | Scalar]) -> None: ...

    def stop(self, message: str, exception: type[BaseException], args: tuple) -> None: ...

    # --- synchronisation -------------------------------------------------------------------------------------------

    def barrier(self, reduce: str | None = None, value: Scalar | None = None) -> Scalar | None:
        return Scalar(np.dtype(np.int32), UNKNOWN) if reduce else None

    def warp(self, kind: str, operands: Sequence[Scalar], results: Sequence[np.dtype]) -> list[Scalar]:
        return [Scalar(dtype, UNKNOWN) for dtype in results]

    def grid_sync(self) -> None: ...

    # --- flow inside an operation ----------------------------------------------------------------------------------

    def select(self, condition: Scalar, if_true: Scalar, if_false: Scalar) -> Scalar:
        """if_true or if_false (of one dtype), lane by lane; both are evaluated."""
        return self.alu("np.where({0}, {1}, {2})[()]", (condition, if_true, if_false), if_true.dtype)

    def loop(self, extent: Scalar, body: Callable[[Scalar], None]) -> None:
        """body(k) for k = 0 .. extent - 1, a loop the machine runs."""
        body(Scalar(INT64, UNKNOWN))


class Builder(Typist):
    """Writes the blocks of a Program."""

    recording = True

    def __init__(self, memory: Memory, file: str):
        super().__init__(memory)
        self.blocks: list[BasicBlock] = [BasicBlock()]
        self.registers: list[Register] = []
        self.lines: list[SourceLine] = []
        self._line_numbers: dict[tuple[str, int], int] = {}
        self.current = 0
        self.bases: dict[int, int] = {}  # root -> register of an address only the launch knows
        self.extents: dict[int, int] = {}  # dynamic shared root -> register of its length
        self._definitions: dict[int, tuple[int, Op]] = {}
        self._casts: dict[tuple[int, np.dtype, int | None], Scalar] = {}
        self.calls: dict[int, tuple[int, ...]] = {}  # block that ends in a Call -> registers of the result

    def at(self, file: str, number: int, text: str) -> int:
        """Index in Program.lines of a line of source."""
        key = (file, number)
        if key not in self._line_numbers:
            self._line_numbers[key] = len(self.lines)
            self.lines.append(SourceLine(file, number, text))
        return self._line_numbers[key]

    def register(self, dtype: np.dtype, name: str = "") -> int:
        self.registers.append(Register(name, dtype))
        return len(self.registers) - 1

    def fresh(self, like: Value, name: str = "") -> Value:
        """The same form with a new register for every leaf that is not a constant."""
        leaves = [
            leaf if isinstance(leaf.operand, Const) else Scalar(leaf.dtype, self.register(leaf.dtype, name))
            for leaf in like.leaves
        ]
        return like.with_leaves(leaves) if leaves else like

    def append(self, op: Op) -> None:
        self.blocks[self.current].ops.append(op)

    def new_block(self) -> int:
        self.blocks.append(BasicBlock())
        return len(self.blocks) - 1

    def start(self, block: int) -> None:
        self.current = block

    def end(self, terminator: Terminator) -> None:
        self.blocks[self.current].end = terminator

    def jump(self, target: int) -> None:
        self.end(Jump(target, self.line))

    def branch(self, condition: Operand, if_true: int, if_false: int, count: int) -> None:
        self.end(Branch(condition, if_true, if_false, self.line, count))

    def exit(self) -> None:
        self.end(Exit(self.line))

    def give_back(self) -> None:
        self.end(Return(self.line))

    # --- operations ------------------------------------------------------------------------------------------------

    def _alu(
        self, code: str | Callable, operands: Sequence[Scalar], dtype: np.dtype, check: str | None, count: int
    ) -> Scalar:
        result = self.register(dtype)
        self._define(Alu(result, tuple(x.operand for x in operands), code, self.line, check, count), result)
        return Scalar(dtype, result)

    def _define(self, op: Op, *results: int) -> None:
        """Append the only operation that writes these registers."""
        self.append(op)
        for register in results:
            self._definitions[register] = (self.current, op)

    def cast(self, value: Scalar, dtype: np.dtype, check: str | None = None, count: int = 0) -> Scalar:
        if count or check or not isinstance(value.operand, int) or value.dtype == dtype:
            return super().cast(value, dtype, check, count)
        # Converted once, where the value is defined: an index is often used in many places.
        defined = self._definitions.get(value.operand)
        key = (value.operand, dtype, None if defined else self.current)
        if key not in self._casts:
            if defined is None:
                self._casts[key] = super().cast(value, dtype)
            else:
                block, op = defined
                resume, line, length = self.current, self.line, len(self.blocks[block].ops)
                self.current, self.line = block, op.line
                self._casts[key] = super().cast(value, dtype)
                self.current, self.line = resume, line
                ops = self.blocks[block].ops
                after = next(i for i, other in enumerate(ops) if other is op) + 1
                ops[after:] = ops[length:] + ops[after:length]
        return self._casts[key]

    def copy_to(self, register: int, source: Operand) -> None:
        self.append(Alu(register, (source,), COPY, self.line, None, 0))

    def special(self, name: str, dtype: np.dtype) -> Scalar:
        result = self.register(dtype)
        self._define(Special(result, name, self.line), result)
        return Scalar(dtype, result)

    def base_of(self, root: int) -> Scalar:
        if root not in self.bases:
            self.bases[root] = self.register(INT64)
        return Scalar(INT64, self.bases[root])

    def extent_of(self, root: int) -> Scalar:
        if root not in self.extents:
            self.extents[root] = self.register(INT64)
        return Scalar(INT64, self.extents[root])

    def loop(self, extent: Scalar, body: Callable[[Scalar], None]) -> None:
        header, inside, after = self.new_block(), self.new_block(), self.new_block()
        counter = Scalar(INT64, self.register(INT64))
        assert isinstance(counter.operand, int)
        self.copy_to(counter.operand, integer(0).operand)
        self.jump(header)
        self.start(header)
        more = self.alu("({0} < {1})", (counter, extent), BOOL)
        self.branch(more.operand, inside, after, 0)
        self.start(inside)
        body(counter)
        self.append(Alu(counter.operand, (counter.operand, integer(1).operand), "({0} + {1})", self.line, None, 0))
        self.jump(header)
        self.start(after)

    def load(self, place: Element, array: Array, dtype: np.dtype, n: int = 1, volatile: bool = False) -> list[Scalar]:
        results = [self.register(dtype) for _ in range(n)]
        self._define(Load(tuple(results), place, array.space, dtype, self.line, array.root, volatile), *results)
        return [Scalar(dtype, r) for r in results]

    def store(
        self, place: Element, array: Array, dtype: np.dtype, source: Sequence[Scalar], volatile: bool = False
    ) -> None:
        operands = tuple(x.operand for x in source)
        self.append(Store(operands, place, array.space, dtype, self.line, array.root, volatile))

    def atomic(self, action: str, place: Element, array: Array, dtype: np.dtype, source: Sequence[Scalar]) -> Scalar:
        result = self.register(dtype)
        operands = tuple(x.operand for x in source)
        self._define(Atomic(result, action, operands, place, array.space, dtype, self.line, array.root), result)
        return Scalar(dtype, result)

    def fence(self, scope: str) -> None:
        self.append(Fence(scope, self.line))

    def print(self, parts: Sequence[str | Scalar]) -> None:
        operands = tuple(part if isinstance(part, str) else part.operand for part in parts)
        self.append(Print(operands, self.line, sep=""))

    def stop(self, message: str, exception: type[BaseException], args: tuple) -> None:
        self.append(Raise(message, self.line, exception, args))

    def barrier(self, reduce: str | None = None, value: Scalar | None = None) -> Scalar | None:
        after = self.new_block()
        result = self.register(np.dtype(np.int32)) if reduce else None
        self.end(Barrier(after, self.line, reduce, None if value is None else value.operand, result))
        self.start(after)
        return None if result is None else Scalar(np.dtype(np.int32), result)

    def warp(self, kind: str, operands: Sequence[Scalar], results: Sequence[np.dtype]) -> list[Scalar]:
        after = self.new_block()
        registers = [self.register(dtype) for dtype in results]
        self.end(WarpSync(kind, after, tuple(x.operand for x in operands), tuple(registers), self.line))
        self.start(after)
        return [Scalar(dtype, r) for dtype, r in zip(results, registers, strict=True)]

    def grid_sync(self) -> None:
        after = self.new_block()
        self.end(GridSync(after, self.line))
        self.start(after)
