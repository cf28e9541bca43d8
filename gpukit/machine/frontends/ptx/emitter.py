"""Writes the program of one kernel: operands in the dtype an instruction wants, results in that of their register.

A PTX register has a width, a program register a dtype. Reading one as another type of the same width views its bits;
the views are kept until the register changes, so they cost little. Addresses are int64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from gpukit.errors import KernelSyntaxError, UnsupportedFeature
from gpukit.machine.frontends.ptx import specials
from gpukit.machine.frontends.ptx.syntax import (
    Float,
    Instruction,
    Integer,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
)
from gpukit.machine.program import (
    Alu,
    BasicBlock,
    Branch,
    Const,
    Jump,
    Op,
    SourceLine,
    Special,
    Terminator,
)
from gpukit.machine.program import Operand as Value
from gpukit.machine.program import Register as ProgramRegister

if TYPE_CHECKING:
    from gpukit.machine.frontends.ptx.lowering import Lowering

BOOL = np.dtype(bool)
I32, U32, I64 = np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.int64)


@dataclass
class Emitter:
    """The program under construction. Instruction modules use `read`, `alu`, `temporary`, `write` and `refuse`; blocks
    (`new_block`, `start`, `end`) are for what branches or waits."""

    blocks: list[BasicBlock] = field(default_factory=lambda: [BasicBlock()])
    registers: list[ProgramRegister] = field(default_factory=list)
    lines: list[SourceLine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.current = 0  # block that is being written
        self.line = 0  # index into `lines` of the instruction at hand
        self.inst: Instruction | None = None
        self.names: dict[str, int] = {}  # PTX register -> program register
        self.running_sums: dict[int, Register] = {}  # line of an addition -> the operand that is the sum so far
        self.guard: Value | None = None  # predicate of a guarded arithmetic instruction
        self._views: dict[int, dict[np.dtype, int]] = {}  # register -> its views
        self._specials: dict[str, int] = {}
        self.windows: dict[int, dict[int, int]] = {}  # register with an address -> window -> the address in it
        self.address_of: Callable[[Symbol], Value] = self._no_symbols
        self.lowering: Lowering  # the work this is a part of; set by it

    # --- operands ---------------------------------------------------------------------------------------------------

    def read(self, operand: Operand, dtype: np.dtype) -> Value:
        """A program operand (register number or Const) that holds `operand` as exactly `dtype`.

        A register of another dtype of the same size is viewed; of a wider one the low bits are taken, of a narrower
        one the bits are extended by zeros (PTX allows both in few places: loads, stores, conversions, bfe).
        """
        match operand:
            case Register(name):
                number = self._special(name) if name.startswith("%") and name not in self.names else self.number(name)
                return self.viewed(number, dtype)
            case Integer(value):
                return Const(constant(value, dtype))
            case Float():
                if dtype.kind == "f":
                    return Const(dtype.type(operand.value))
                return Const(constant(operand.bits, dtype))
            case Symbol():
                return self.converted(self.address_of(operand), dtype)
            case Negated(register):
                opposite = self.temporary(BOOL)
                self.emit(Alu(opposite, (self.read(register, BOOL),), "~{0}", self.line, count=0))
                return opposite
            case _:
                self.malformed(f"{self._name()} does not take such an operand")

    def number(self, name: str) -> int:
        """The program register of a PTX register."""
        found = self.names.get(name)
        if found is None:
            self.malformed(f"the register {name} is not declared")
        return found

    def viewed(self, register: int, dtype: np.dtype) -> Value:
        """A register's bits as another dtype."""
        have = self.registers[register].dtype
        if have == dtype:
            return register
        views = self._views.setdefault(register, {})
        if dtype in views:
            return views[dtype]
        view = self.temporary(dtype)
        self.emit(Alu(view, (register,), reinterpretation(have, dtype), self.line, count=0))
        views[dtype] = view
        return view

    def converted(self, value: Value, dtype: np.dtype) -> Value:
        """A value (of any integer dtype) reinterpreted as `dtype`."""
        if isinstance(value, Const):
            return Const(constant(int(value.value), dtype))
        return self.viewed(value, dtype)

    def literal(self, value: Const, dtype: np.dtype) -> Const:
        """A constant whose bits are read as another dtype of the same size."""
        return value if value.value.dtype == dtype else Const(np.frombuffer(value.value.tobytes(), dtype)[0])

    def _special(self, name: str) -> int:
        if name not in self._specials:
            self._specials[name] = specials.read(self, name)
        return self._specials[name]

    def _no_symbols(self, symbol: Symbol) -> NoReturn:
        self.malformed(f"the variable `{symbol.name}` is not declared")

    # --- results ----------------------------------------------------------------------------------------------------

    def temporary(self, dtype: np.dtype) -> int:
        """A fresh program register."""
        self.registers.append(ProgramRegister("", dtype))
        return len(self.registers) - 1

    def alu(
        self,
        target: Operand,
        dtype: np.dtype,
        code: str | Callable,
        *sources: Value,
        check: str | None = None,
        count: int = 1,
    ) -> None:
        """target = code(sources), where code gives exactly `dtype`; the guard of the instruction is obeyed.

        `code` is a template ("{0} + {1}") or a function over any mix of NumPy scalars and 1-D arrays. A target of
        another dtype of the same size gets the bits; a wider one is extended by the sign (signed dtype) or by zeros.
        """
        if isinstance(target, Sink):
            return
        result = self.destination(target, dtype)
        self.emit(Alu(result, sources, code, self.line, check, count))
        self.write(target, result)

    def destination(self, target: Operand, dtype: np.dtype) -> int:
        """The register an operation should write so that `write` has nothing left to do, or a temporary."""
        if isinstance(target, Register) and self.guard is None:
            number = self.number(target.name)
            if self.registers[number].dtype == dtype:
                self.forget(number)
                return number
        return self.temporary(dtype)

    def write(self, target: Operand, value: Value) -> None:
        """target = value, bits reinterpreted or extended where dtypes differ, under the instruction's guard."""
        if isinstance(target, Sink):
            return
        if not isinstance(target, Register):
            self.malformed(f"{self._name()} does not take such a destination")
        number = self.number(target.name)
        if value == number and not isinstance(value, Const):
            return
        want = self.registers[number].dtype
        if self.guard is not None:
            value = self.converted_value(value, want)
            code = "np.where({0}, {1}, {2})[()]"
            self.emit(Alu(number, (self.guard, value, number), code, self.line, count=0))
        else:
            have = value.value.dtype if isinstance(value, Const) else self.registers[value].dtype
            code = "{0}" if have == want else reinterpretation(have, want)
            self.emit(Alu(number, (value,), code, self.line, count=0))
        self.forget(number)

    def converted_value(self, value: Value, dtype: np.dtype) -> Value:
        have = value.value.dtype if isinstance(value, Const) else self.registers[value].dtype
        if have == dtype:
            return value
        result = self.temporary(dtype)
        self.emit(Alu(result, (value,), reinterpretation(have, dtype), self.line, count=0))
        return result

    def forget(self, register: int) -> None:
        """A register changes: views of it are stale."""
        for view in self._views.pop(register, {}).values():
            self.windows.pop(view, None)
        self.windows.pop(register, None)

    # --- operations and blocks --------------------------------------------------------------------------------------

    def emit(self, op: Op) -> None:
        self.blocks[self.current].ops.append(op)

    def special(self, name: str, dtype: np.dtype) -> int:
        """A fresh register with a hardware value (see program.Special)."""
        register = self.temporary(dtype)
        self.emit(Special(register, name, self.line))
        return register

    def new_block(self) -> int:
        self.blocks.append(BasicBlock())
        return len(self.blocks) - 1

    def start(self, block: int) -> None:
        """Go on writing in `block`."""
        self.current = block
        self._views.clear()
        self._specials.clear()
        self.windows.clear()

    def end(self, terminator: Terminator) -> None:
        """End the block at hand."""
        self.blocks[self.current].end = terminator

    def then(self, make: Callable[[int], Terminator]) -> None:
        """End the block at hand with a terminator that goes on in a fresh one, and go on there."""
        after = self.new_block()
        self.end(make(after))
        self.start(after)

    def jump(self, block: int) -> None:
        self.end(Jump(block, self.line))

    def branch(self, condition: Value, if_true: int, if_false: int, count: int = 1) -> None:
        self.end(Branch(condition, if_true, if_false, self.line, count))

    def two(self, operand: Operand) -> tuple[Operand, Operand]:
        """The two destinations of "a|b"; of a single one the second is a sink."""
        return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())

    # --- errors -----------------------------------------------------------------------------------------------------

    def _name(self) -> str:
        return f"`{self.inst.name}`" if self.inst is not None else "the instruction"

    def malformed(self, what: str) -> NoReturn:
        """Stop: the PTX is wrong (assembly written by hand, or a declaration without a definition)."""
        where = self.lines[self.line] if self.line < len(self.lines) else None
        raise KernelSyntaxError(what, file=where.file if where else None, line=where.number if where else None)

    def refuse(self, what: str, more: str = "") -> NoReturn:
        """Stop: the machine does not do `what`. The message names the source line; `more` says why or what to do."""
        where = self.lines[self.line] if self.line < len(self.lines) else None
        raise UnsupportedFeature(
            f"the compiled kernel uses {what}, which the CPU machine does not have" + (f": {more}" if more else ""),
            file=where.file if where else None,
            line=where.number if where else None,
        )


def constant(value: int, dtype: np.dtype) -> np.generic:
    """An integer literal as `dtype`: its low bits, or, as a float dtype, the float with these bits."""
    if dtype == BOOL:
        return np.bool_(value != 0)
    assert dtype.kind != "V", "values of 128 bits are refused before"
    bits = np.dtype(f"u{dtype.itemsize}")
    raw = bits.type(value & ((1 << 8 * dtype.itemsize) - 1))
    return raw.view(dtype)


def reinterpretation(have: np.dtype, want: np.dtype) -> str:
    """Template that turns the bits of one dtype into another: the low bits, or an extension by sign or zeros."""
    if have == want:
        return "{0}"
    if have == BOOL:
        return "{0}.astype('" + want.str[1:] + "')"
    if want == BOOL:
        return "({0} != 0)"
    text = "{0}"
    if have.itemsize != want.itemsize:
        if have.kind == "f":
            text += f".view('u{have.itemsize}')"
            have = np.dtype(f"u{have.itemsize}")
        have = np.dtype(f"{have.kind}{want.itemsize}")
        text += f".astype('{have.str[1:]}')"
    return text if have == want else text + f".view('{want.str[1:]}')"
