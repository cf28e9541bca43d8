"""Calls: device functions put in place where they are called, and subroutines for those that call themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.ptx.emitter import I64, Emitter
from gpukit.machine.frontends.ptx.frames import Frame, callees, symbols
from gpukit.machine.frontends.ptx.slots import Slots
from gpukit.machine.frontends.ptx.storage import Storage
from gpukit.machine.frontends.ptx.syntax import (
    TYPES,
    Function,
    Instruction,
    Label,
    Memory,
    Module,
    Operand,
    Register,
    Statement,
    Symbol,
    Variable,
    Vector,
)
from gpukit.machine.program import Alu, Call, Const

MAX_INLINED = 4_000  # function bodies put in place
MAX_DEPTH = 512  # of recursion, as the executor has it


@dataclass
class _Subroutine:
    """Where it begins, and the registers that its parameters and results travel in."""

    entry: int
    parameters: list[Slots]
    results: list[Slots]


class Calls:
    """The part of lowering that calls device functions."""

    module: Module
    kernel: Function
    out: Emitter
    frame: Frame
    storage: Storage

    def __init__(self) -> None:
        self.subroutines: dict[str, _Subroutine] = {}
        self.depth = self.out.temporary(I64)  # of subroutine calls
        self.calls: dict[int, tuple[int, ...]] = {}
        self.inlined = 0

    if TYPE_CHECKING:  # the rest of lowering has them

        def new_frame(self, function: Function, slots: dict[str, Slots], after: int | None = None) -> Frame: ...

        def body(self, frame: Frame) -> None: ...

    # --- which functions --------------------------------------------------------------------------------------------

    def reached(self) -> Iterator[Function]:
        """The kernel and every function that it calls or whose address is taken, once each."""
        seen, stack = {self.kernel.name}, [self.kernel]
        while stack:
            function = stack.pop()
            yield function
            names = symbols(function)
            for variable in self.module.variables.values():
                if variable.name in names:
                    names |= {symbol.name for symbol in variable.pointers.values()}
            for name in sorted(names):
                callee = self.module.functions.get(name)
                if callee is not None and callee.body is not None and name not in seen:
                    seen.add(name)
                    stack.append(callee)

    def recursive(self, function: Function) -> bool:
        """Whether a function can call itself."""
        seen: set[str] = set()
        stack = [function]
        while stack:
            for name in callees(stack.pop(), self.module):
                if name == function.name:
                    return True
                callee = self.module.functions.get(name)
                if callee is not None and callee.body is not None and name not in seen:
                    seen.add(name)
                    stack.append(callee)
        return False

    # --- calls ------------------------------------------------------------------------------------------------------

    def call(self, function: Function, arguments: list[Slots], results: list[Slots]) -> None:
        """Call a device function that has a body. Argument and result slots are those of the caller."""
        out = self.out
        if (len(arguments), len(results)) != (len(function.parameters), len(function.results)):
            out.malformed(
                f"`{function.name}` takes {len(function.parameters)} arguments and gives {len(function.results)} "
                f"results; this call has {len(arguments)} and {len(results)}"
            )
        if self.recursive(function):
            self.call_subroutine(function, arguments, results)
            return
        if self.inlined > MAX_INLINED:
            out.refuse("too many calls of device functions to put them all in place")
        slots = dict(zip((v.name for v in function.parameters), arguments, strict=True))
        slots |= dict(zip((v.name for v in function.results), results, strict=True))
        after = out.new_block()
        frame = self.new_frame(function, slots, after)
        self.receive(frame, function.parameters)
        self.body(frame)
        out.start(after)
        self.deliver(frame, function.results)

    def receive(self, frame: Frame, parameters: Iterable[Variable]) -> None:
        """Parameters that are registers get their values."""
        out = self.out
        for variable in parameters:
            if variable.space == "reg" and variable.name in frame.names:
                register = frame.names[variable.name]
                dtype = out.registers[register].dtype
                out.emit(Alu(register, (frame.slots[variable.name].load(out, 0, dtype),), "{0}", out.line, count=0))

    def deliver(self, frame: Frame, results: Iterable[Variable]) -> None:
        """Results that are registers go to the caller."""
        for variable in results:
            if variable.space == "reg" and variable.name in frame.names:
                register = frame.names[variable.name]
                frame.slots[variable.name].store(self.out, 0, register, self.out.registers[register].dtype)

    def call_subroutine(self, function: Function, arguments: list[Slots], results: list[Slots]) -> None:
        out = self.out
        if function.name not in self.subroutines:
            self.write_subroutine(function)
        routine = self.subroutines[function.name]
        for mine, theirs in zip(arguments, routine.parameters, strict=True):
            for offset, (register, nbytes) in theirs.pieces.items():
                dtype = np.dtype(f"u{nbytes}")
                value = mine.load(out, offset, dtype)
                out.emit(Alu(register, (value,), "{0}", out.line, count=0))
        self.count_depth(1)
        after = out.new_block()
        self.calls[out.current] = tuple(r for slots in routine.results for r, _ in slots.pieces.values())
        out.end(Call(routine.entry, after, (), out.line))
        out.start(after)
        self.count_depth(-1)
        for mine, theirs in zip(results, routine.results, strict=True):
            for offset, (register, nbytes) in theirs.pieces.items():
                mine.store(out, offset, register, np.dtype(f"u{nbytes}"))

    def count_depth(self, by: int) -> None:
        """Keep the number of subroutine calls a lane is inside of: a register that starts at zero."""
        self.out.emit(Alu(self.depth, (self.depth, Const(np.int64(by))), "{0} + {1}", self.out.line, count=0))

    def write_subroutine(self, function: Function) -> None:
        """The body of a recursive function, once. Its parameters and results travel in registers of their own."""
        out = self.out
        resume, names = out.current, out.names
        entry = out.new_block()
        parameters, results = (
            [_slots(out, function, v.name, opcode) for v in variables]
            for variables, opcode in ((function.parameters, "ld"), (function.results, "st"))
        )
        self.subroutines[function.name] = _Subroutine(entry, parameters, results)
        before = self.storage.local_bytes
        own = {v.name: Slots(v.name) for v in function.parameters}
        out.start(entry)
        for slots, variable in zip(parameters, function.parameters, strict=True):
            for offset, (register, nbytes) in slots.pieces.items():
                own[variable.name].store(out, offset, register, np.dtype(f"u{nbytes}"))
        own |= dict(zip((v.name for v in function.results), results, strict=True))
        frame = self.new_frame(function, own)
        frame.subroutine = True
        size = -(-(self.storage.local_bytes - before) // 16) * 16
        if size:
            # Each level of the recursion has local variables of its own, `size` bytes further up.
            self.storage.local_bytes = before + size * MAX_DEPTH
            for name in frame.local:
                self.storage.roots[self.storage.number(f"{frame.key}.{name}")].nbytes = size * MAX_DEPTH
            frame.stack = out.temporary(I64)
            code = f"({{0}} - np.int64(1)) * np.int64({size})"
            out.emit(Alu(frame.stack, (self.depth,), code, out.line, count=0))
        self.body(frame)
        out.start(resume)
        out.names = names

    def label(self, operand: Operand) -> int:
        """The block of a label of the frame at hand."""
        name = operand.name if isinstance(operand, Symbol) else "?"
        if name not in self.frame.labels:
            self.out.malformed(f"there is no label `{name}`")
        return self.frame.labels[name]

    def slots(self, name: str) -> Slots:
        """The registers of a parameter or result of a call."""
        return self.frame.slots.setdefault(name, Slots(name))

    def is_parameter(self, name: str) -> bool:
        """Whether a name is a parameter of a call: of this function, or one it makes."""
        variable = self.frame.variables.get(name)
        return name in self.frame.slots or (variable is not None and variable.space == "param")

    def before(self, inst: Instruction | None) -> list[Statement]:
        """The statements between the last label and an instruction of the frame at hand."""
        found: list[Statement] = []
        for statement in self.frame.function.body or ():
            if statement is inst:
                break
            found.append(statement)
            if isinstance(statement, Label):
                found.clear()
        return found

    def functions_with_addresses(self) -> list[Function]:
        """Device functions that a pointer can hold: those named anywhere but in a call."""
        named: set[str] = set()
        for function in self.reached():
            for inst in function.body or ():
                if isinstance(inst, Instruction) and inst.opcode != "call":
                    named.update(o.name for o in inst.operands if isinstance(o, Symbol))
        for variable in self.module.variables.values():
            named.update(symbol.name for symbol in variable.pointers.values())
        functions = self.module.functions.values()
        return [f for f in functions if f.name in named and not f.entry and f.body is not None]

    def shape_of(self, arguments: Sequence[Operand]) -> list[int]:
        """Bytes of each argument of a call."""
        sizes = []
        for operand in arguments:
            if isinstance(operand, Symbol) and operand.name in self.frame.variables:
                sizes.append(self.frame.variables[operand.name].nbytes)
            elif isinstance(operand, Register):
                sizes.append(self.out.registers[self.out.number(operand.name)].dtype.itemsize)
            else:
                sizes.append(0)
        return sizes


def _slots(out: Emitter, function: Function, name: str, opcode: str) -> Slots:
    """Registers for every piece of a parameter (or result) that the function itself loads (or stores)."""
    slots = Slots(name)
    for inst in function.body or ():
        if not isinstance(inst, Instruction) or inst.opcode != opcode or not inst.has("param"):
            continue
        where, items = (inst.operands[1], inst.operands[0]) if opcode == "ld" else inst.operands[:2]
        if isinstance(where, Memory) and isinstance(where.base, Symbol) and where.base.name == name:
            size = TYPES[inst.type].itemsize
            for i in range(len(items.items) if isinstance(items, Vector) else 1):
                slots.piece(out, where.offset + i * size, size)
    return slots
