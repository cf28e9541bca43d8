"""One kernel of a PTX module -> a `Program`. Device functions are put in place where they are called; a function that
calls itself, directly or through others, becomes a subroutine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpukit.errors import UnsupportedFeature
from gpukit.machine.frontends import cleanup
from gpukit.machine.frontends.ptx import provenance, validity, widths
from gpukit.machine.frontends.ptx.assembler import assemble
from gpukit.machine.frontends.ptx.calls import Calls
from gpukit.machine.frontends.ptx.emitter import Emitter
from gpukit.machine.frontends.ptx.frames import Frame, constants, symbols
from gpukit.machine.frontends.ptx.instructions import table
from gpukit.machine.frontends.ptx.lines import SourceMap
from gpukit.machine.frontends.ptx.places import Input, Places
from gpukit.machine.frontends.ptx.retry_loops import guarded_reads
from gpukit.machine.frontends.ptx.running_sums import running_sums
from gpukit.machine.frontends.ptx.slots import Slots
from gpukit.machine.frontends.ptx.storage import Storage
from gpukit.machine.frontends.ptx.syntax import (
    Function,
    Instruction,
    Label,
    Module,
    Variable,
)
from gpukit.machine.program import (
    GENERIC,
    GLOBAL,
    LOCAL,
    SHARED,
    Alu,
    Atomic,
    BasicBlock,
    Exit,
    Jump,
    Load,
    Program,
    Return,
    Root,
    Store,
)


@dataclass
class Lowered:
    """A kernel as a program, and what each launch must put into it.

    `pointers`: root -> (position of the parameter, byte offset in it); `variables`: root -> module variable;
    `parameter_block` and `workspace`: the roots of the parameters in memory and of the grid barrier, where they are
    needed.
    """

    program: Program
    inputs: list[Input]
    pointers: dict[int, tuple[int, int]]
    variables: dict[int, Variable]
    parameter_block: int | None = None
    workspace: int | None = None

    @property
    def follows_pointers(self) -> bool:
        """Whether an access may go where a pointer found in memory says."""
        return any(
            isinstance(op, Load | Store | Atomic) and op.root is None and op.space in (GENERIC, GLOBAL)
            for block in self.program.blocks
            for op in block.ops
        )


class Lowering(Calls, Places):
    """The work on one kernel. Instruction modules reach it as `out.lowering`."""

    def __init__(self, module: Module, kernel: Function, parameters: Sequence[str], sources: SourceMap):
        self.module = module
        self.kernel = kernel
        self.out = Emitter()
        self.out.lowering = self
        self.out.address_of = self.address_of
        self.sources = sources
        self.storage = Storage()
        Calls.__init__(self)
        Places.__init__(self, parameters)
        self.assembled: dict[str, Function] = {}
        self.frame = Frame(kernel, "", {}, {}, {})

    def run(self) -> Lowered:
        """The lowered kernel. Raises UnsupportedFeature with the source line of what the machine does not have."""
        reached = list(self.reached())
        shared = [v for function in reached for v in function.variables if v.space == SHARED]
        named = set().union(*(symbols(function) for function in reached))
        shared += [v for v in self.module.variables.values() if v.space == SHARED and v.name in named]
        self.storage.lay_out_shared(shared)
        out = self.out
        out.line = self.sources.start(self.kernel, out.lines)
        self.body(self.new_frame(self.kernel, {}))
        fixed = {item.register for item in self.inputs.values()}
        blocks, renumbered = cleanup.tidy(out.blocks, out.registers, self.calls, fixed)
        roots = self.storage.roots
        cleanup.mark_roots(blocks, roots)
        _name_elements(blocks, roots)
        program = Program(
            kernel_name=self.kernel.name,
            file=self.sources.main,
            blocks=blocks,
            registers=[out.registers[old] for old in sorted(renumbered, key=renumbered.__getitem__)],
            lines=out.lines,
            roots=roots,
            static_shared_bytes=self.storage.shared_bytes,
            local_bytes=self.storage.local_bytes,
            level="compiled",
            cooperative=self.cooperative,
            source=self.sources.shown(out.lines),
        )
        inputs = [
            Input(renumbered[i.register], i.dtype, i.parameter, i.offset, i.variable)
            for i in self.inputs.values()
            if i.register in renumbered
        ]
        return Lowered(program, inputs, self.pointers, self.variables, self.parameter_block, self.workspace)

    # --- functions --------------------------------------------------------------------------------------------------

    def new_frame(self, function: Function, slots: dict[str, Slots], after: int | None = None) -> Frame:
        """A fresh instance: registers, blocks for its labels, local variables, and where its pointers point."""
        as_written = function  # copies that the assembler makes keep the line of the original
        if function.name not in self.assembled:
            for inst, fault in validity.faults(function):
                self.out.line = self.sources.line(inst, self.out.lines, self.out.line)
                self.out.malformed(fault)
            self.assembled[function.name] = assemble(function, self.storage.shared)
        function = self.assembled[function.name]
        out = self.out
        self.inlined += 1
        key = f"{function.name}#{self.inlined}"
        names = {}
        for name, dtype in widths.dtypes(function).items():
            names[name] = out.temporary(dtype)
        labels = {s.name: out.new_block() for s in function.body or () if isinstance(s, Label)}
        frame = Frame(function, key, names, labels, slots, after)
        frame.variables = {v.name: v for v in function.variables}
        frame.local = {v.name: self.storage.local(v, f"{key}.{v.name}") for v in function.variables if v.space == LOCAL}
        frame.roots = provenance.roots(
            function,
            self.root_of_parameter if function is self.assembled.get(self.kernel.name) else _nowhere,
            lambda name: self.root_of_variable(name, frame),
        )
        frame.constants = constants(function)
        frame.running_sums = running_sums(as_written)
        frame.guarded_reads = guarded_reads(as_written)
        return frame

    def body(self, frame: Frame) -> None:
        """Write the statements of a frame; ends with every path closed."""
        outer, names, line, sums = self.frame, self.out.names, self.out.line, self.out.running_sums
        self.frame, self.out.names, self.out.running_sums = frame, frame.names, frame.running_sums
        out = self.out
        open_ = True
        for statement in frame.function.body or ():
            if isinstance(statement, Label):
                if open_:
                    out.jump(frame.labels[statement.name])
                out.start(frame.labels[statement.name])
                open_ = True
                continue
            if not open_:  # nothing leads here
                out.start(out.new_block())
            self.statement(statement)
            open_ = not self.closes(statement)
        if open_:
            self.leave()
        self.frame, out.names, out.line, out.running_sums = outer, names, line, sums

    @staticmethod
    def closes(inst: Instruction) -> bool:
        return inst.guard is None and inst.opcode in ("bra", "brx", "ret", "exit", "trap")

    def leave(self) -> None:
        """What `ret` does in the frame at hand."""
        out, frame = self.out, self.frame
        if frame.after is not None:
            out.end(Jump(frame.after, out.line))
        else:
            out.end(Return(out.line) if frame.subroutine else Exit(out.line))

    def statement(self, inst: Instruction) -> None:
        out = self.out
        out.inst = inst
        out.line = self.sources.line(inst, out.lines, out.line)
        lower = table.find(inst)
        if lower is None:
            out.refuse(f"`{inst.name}`", table.refused(inst))
        if inst.guard is None:
            lower(out, inst)
            return
        register, negated = inst.guard
        predicate = out.read(register, np.dtype(bool))
        if not table.has_effect(inst.opcode):
            if negated:
                opposite = out.temporary(np.dtype(bool))
                out.emit(Alu(opposite, (predicate,), "~{0}", out.line, count=0))
                predicate = opposite
            out.guard = predicate
            lower(out, inst)
            out.guard = None
            return
        if inst.opcode == "bra":
            there, on = self.label(inst.operands[0]), out.new_block()
            out.branch(predicate, *((on, there) if negated else (there, on)))
            out.start(on)
            return
        inside, around = out.new_block(), out.new_block()
        first, second = (around, inside) if negated else (inside, around)
        out.branch(predicate, first, second, count=int(inst.opcode == "brx"))
        out.start(inside)
        lower(out, replace(inst, guard=None))
        if inst.opcode not in ("brx", "ret", "exit", "trap"):
            out.jump(around)
        out.start(around)


def lower(module: Module, name: str, parameters: Sequence[str], sources: SourceMap) -> Lowered:
    """The kernel `name` of a module as a program.

    `parameters` are the names of its parameters as the author wrote them ([]: not known).
    """
    kernel = module.functions[name]
    try:
        return Lowering(module, kernel, parameters, sources).run()
    except RecursionError:
        raise UnsupportedFeature(f"device functions that {name} calls nest too deeply", file=sources.main) from None


def _name_elements(blocks: Sequence[BasicBlock], roots: Sequence[Root]) -> None:
    """PTX declares arrays as bytes. Where all accesses have one width, that is what an element is in messages."""
    dtypes: dict[int, set[np.dtype]] = {}
    for block in blocks:
        for op in block.ops:
            if isinstance(op, Load | Store | Atomic) and op.root is not None:
                dtypes.setdefault(op.root, set()).add(op.dtype)
    for number, found in dtypes.items():
        if roots[number].dtype.itemsize == 1 and len({dtype.itemsize for dtype in found}) == 1:
            roots[number].dtype = min(found, key=str)


def _nowhere(name: str, offset: int) -> int | None:
    return None
