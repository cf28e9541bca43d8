"""Turns each block of a program into one Python function, compiled once per program.

A block's function reads the registers it needs from `C`, the compact values of the current lane set (fetching those
that are not there yet), keeps everything else in local variables, and writes back only what later blocks read. It
returns what the block's terminator needs. With hazards on, the checks an operation asks for are generated after it;
with hazards off they do not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpukit.machine.analysis import Analysis, analyse
from gpukit.machine.program import (
    Address,
    Alu,
    Atomic,
    Barrier,
    Branch,
    Const,
    Fence,
    Load,
    Op,
    Operand,
    Place,
    Print,
    Program,
    Raise,
    Special,
    Store,
    WarpSync,
)


@dataclass
class Compiled:
    """A program ready for the executor. `functions[b](X, C)`; `written[b]`: registers block b leaves in C."""

    analysis: Analysis
    functions: list[Callable]
    written: list[tuple[int, ...]]
    access: list[Load | Store | Atomic]
    source: str


def compile_program(program: Program, hazards: bool) -> Compiled:
    """The compiled form, from the program's cache when it was made before."""
    found = program.compiled.get(hazards)
    if found is None:
        analysis = program.compiled.get("analysis")
        if analysis is None:
            analysis = program.compiled["analysis"] = analyse(program)
        found = program.compiled[hazards] = _generate(program, analysis, hazards)
    return found


def _generate(program: Program, analysis: Analysis, hazards: bool) -> Compiled:
    names: dict[str, object] = {"np": np}  # templates may call NumPy
    access: list[Load | Store | Atomic] = []
    written: list[tuple[int, ...]] = []
    text: list[str] = []
    for b, block in enumerate(analysis.blocks):
        writer = _BlockWriter(names, access, analysis.live.live_out[b], hazards)
        for op in block.ops:
            writer.operation(op)
        result = writer.result(block.end)
        text += [f"def b{b}(X, C):", *writer.fetches, *writer.body, *writer.stores()]
        text += [f"    return {result}"] if result else ([] if writer.body or writer.fetches else ["    pass"])
        written.append(tuple(sorted(writer.to_store)))
    source = "\n".join(text)
    # The text is built only from register numbers and the front end's operation templates; user text never enters it.
    exec(compile(source, f"<gpukit {program.kernel_name}>", "exec"), names)
    functions: list[Callable] = [names[f"b{b}"] for b in range(len(analysis.blocks))]  # type: ignore[misc]
    return Compiled(analysis, functions, written, access, source)


class _BlockWriter:
    """Writes the function of one block."""

    def __init__(self, names: dict[str, object], access: list, live_out: set[int], hazards: bool):
        self.names = names
        self.access = access
        self.live_out = live_out
        self.hazards = hazards
        self.fetches: list[str] = []
        self.body: list[str] = []
        self.local: set[int] = set()
        self.to_store: set[int] = set()

    def bind(self, value: object, prefix: str) -> str:
        """A name in the generated module for a Python object."""
        name = f"{prefix}{len(self.names)}"
        self.names[name] = value
        return name

    def read(self, operand: Operand) -> str:
        if isinstance(operand, Const):
            return self.bind(operand.value, "k")
        if operand not in self.local:
            self.local.add(operand)
            self.fetches.append(f"    r{operand} = C[{operand}]")
            self.fetches.append(f"    if r{operand} is None: r{operand} = X.fetch({operand})")
        return f"r{operand}"

    def tuple_of(self, operands: tuple[Operand, ...]) -> str:
        return "(" + "".join(self.read(o) + ", " for o in operands) + ")"

    def write(self, register: int) -> str:
        self.local.add(register)
        if register in self.live_out:
            self.to_store.add(register)
        return f"r{register}"

    def emit(self, line: str) -> None:
        self.body.append("    " + line)

    def stores(self) -> list[str]:
        return [f"    C[{r}] = r{r}" for r in sorted(self.to_store)]

    def place(self, place: Place) -> str:
        """Arguments of the memory functions that say where."""
        if isinstance(place, Address):
            return self.read(place.address)
        shape, strides = self.tuple_of(place.shape), self.tuple_of(place.strides)
        return f"{self.read(place.base)}, {self.tuple_of(place.index)}, {shape}, {strides}"

    def operation(self, op: Op) -> None:
        match op:
            case Alu():
                self.alu(op)
            case Special():
                self.emit(f"{self.write(op.dst)} = X.special({op.name!r}, {self.bind(op.dst, 'n')})")
            case Load():
                how = "load_at" if isinstance(op.place, Address) else "load"
                call = f"X.{how}({self.bind(op, 'op')}, {self.slot(op)}, {self.place(op.place)})"
                targets = ", ".join(self.write(d) for d in op.dst)
                self.emit(f"{targets}{',' if len(op.dst) > 1 else ''} = {call}")
            case Store():
                how = "store_at" if isinstance(op.place, Address) else "store"
                src = self.tuple_of(op.src)
                self.emit(f"X.{how}({self.bind(op, 'op')}, {self.slot(op)}, {src}, {self.place(op.place)})")
            case Atomic():
                how = "atomic_at" if isinstance(op.place, Address) else "atomic"
                src, where = self.tuple_of(op.src), self.place(op.place)
                call = f"X.{how}({self.bind(op, 'op')}, {self.slot(op)}, {src}, {where})"
                self.emit(call if op.dst is None else f"{self.write(op.dst)} = {call}")
            case Fence():
                if self.hazards:
                    self.emit(f"X.fence({op.scope!r})")
            case Print():
                parts = "".join((repr(p) if isinstance(p, str) else self.read(p)) + ", " for p in op.parts)
                self.emit(f"X.print({self.bind(op, 'op')}, ({parts}))")
            case Raise():
                self.emit(f"X.raised({self.bind(op, 'op')})")

    def alu(self, op: Alu) -> None:
        sources = [self.read(o) for o in op.src]
        if isinstance(op.code, str):
            value = op.code.format(*sources)
        else:
            value = f"{self.bind(op.code, 'f')}({', '.join(sources)})"
        checked = self.hazards and op.check is not None
        # A checked operation may write one of its own operands (acc = acc + v): keep the old values for the check.
        if checked and op.dst in op.src:
            self.emit(f"t = {value}")
            self.check(op, "t", sources)
            self.emit(f"{self.write(op.dst)} = t")
            return
        target = self.write(op.dst)
        self.emit(f"{target} = {value}")
        if checked:
            self.check(op, target, sources)

    def check(self, op: Alu, result: str, sources: list[str]) -> None:
        name = self.bind(op, "op")
        operands = "(" + "".join(s + ", " for s in sources) + ")"
        match op.check:
            case "float":
                self.emit(f"X.check_float({name}, {result}, {operands})")
            case "accumulate":
                self.emit(f"X.check_accumulate({name}, {result}, {operands})")
            case "accumulate_product":
                self.emit(f"X.check_accumulate_product({name}, {result}, {operands})")
            case "narrow":
                self.emit(f"X.check_narrow({name}, {sources[0]}, {result})")
            case "int_div":
                self.emit(f"X.check_int_div({name}, {sources[1]})")

    def slot(self, op: Load | Store | Atomic) -> int:
        self.access.append(op)
        return len(self.access) - 1

    def result(self, end: object) -> str:
        """The expression a block's function returns for its terminator."""
        match end:
            case Branch():
                return self.read(end.condition)
            case Barrier():
                if end.dst is not None:
                    self.declare(end.dst)
                if end.is_named:
                    parts = (end.src, end.number, end.threads)
                    return "(" + "".join(("None" if o is None else self.read(o)) + ", " for o in parts) + ")"
                return self.read(end.src) if end.src is not None else ""
            case WarpSync():
                for register in end.dst:
                    self.declare(register)
                return self.tuple_of(end.src)
            case _:
                return ""

    def declare(self, register: int) -> None:
        """The executor itself writes a terminator's results."""
        self.to_store.discard(register)
