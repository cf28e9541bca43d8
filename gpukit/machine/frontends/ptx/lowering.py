"""One kernel of a PTX module -> a `Program`. Device functions are put in place where they are called; a function that
calls itself, directly or through others, becomes a subroutine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gpukit.errors import UnsupportedFeature
from gpukit.machine.frontends import cleanup
from gpukit.machine.frontends.ptx import provenance, validity, widths
from gpukit.machine.frontends.ptx.assembler import assemble
from gpukit.machine.frontends.ptx.emitter import I64, U32, Emitter
from gpukit.machine.frontends.ptx.instructions import table
from gpukit.machine.frontends.ptx.lines import SourceMap
from gpukit.machine.frontends.ptx.retry_loops import guarded_reads
from gpukit.machine.frontends.ptx.running_sums import running_sums
from gpukit.machine.frontends.ptx.slots import Slots
from gpukit.machine.frontends.ptx.storage import Storage
from gpukit.machine.frontends.ptx.syntax import (
    TYPES,
    Function,
    Instruction,
    Integer,
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
from gpukit.machine.program import (
    GENERIC,
    GLOBAL,
    LOCAL,
    LOCAL_BASE,
    SHARED,
    SHARED_BASE,
    Address,
    Alu,
    Atomic,
    BasicBlock,
    Call,
    Const,
    Exit,
    Jump,
    Load,
    Program,
    Return,
    Root,
    Store,
)
from gpukit.machine.program import Operand as Value

U8 = np.dtype(np.uint8)
PARAMETERS, WORKSPACE, SHARED_BYTES = (
    "(parameters)",
    "(workspace)",
    "(shared bytes)",
)  # inputs that are no variables of the module
MAX_INLINED = 4_000  # function bodies put in place
MAX_DEPTH = 512  # of recursion, as the executor has it
# Numbers that stand for device functions where a program takes their address.
FUNCTION_BASE, FUNCTION_STEP = 1 << 39, 16


@dataclass(frozen=True, slots=True)
class Input:
    """A register that a launch fills: bytes of a parameter (its position), the address of a variable of the module,
    of a parameter (PARAMETERS), or a half of the address of the grid barrier (WORKSPACE; offset 1: upper, 2: lower)."""

    register: int
    dtype: np.dtype
    parameter: int = -1
    offset: int = 0
    variable: str = ""


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


@dataclass
class Frame:
    """One instance of a function in the program."""

    function: Function
    key: str
    names: dict[str, int]
    labels: dict[str, int]
    slots: dict[str, Slots]
    after: int | None = None  # block to go on with at `ret`; None in a kernel and in a subroutine
    subroutine: bool = False
    roots: dict[str, int] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    constants: dict[str, Symbol] = field(default_factory=dict)
    running_sums: dict[int, Register] = field(default_factory=dict)
    guarded_reads: set[int] = field(default_factory=set)
    stack: int | None = None  # register with the byte offset of a subroutine's local memory


@dataclass
class _Subroutine:
    entry: int
    parameters: list[Slots]
    results: list[Slots]
    frame_bytes: int = 0


class Lowering:
    """The work on one kernel. Instruction modules reach it as `out.lowering`."""

    def __init__(self, module: Module, kernel: Function, parameters: Sequence[str], sources: SourceMap):
        self.module = module
        self.kernel = kernel
        self.out = Emitter()
        self.out.lowering = self
        self.out.address_of = self.address_of
        self.sources = sources
        self.storage = Storage()
        self.inputs: dict[tuple, Input] = {}
        self.pointers: dict[int, tuple[int, int]] = {}
        self.variables: dict[int, Variable] = {}
        self.parameter_block: int | None = None
        self.workspace: int | None = None
        self.cooperative = False
        self.names = list(parameters) or [f"parameter {i + 1}" for i in range(len(kernel.parameters))]
        self.positions = {variable.name: i for i, variable in enumerate(kernel.parameters)}
        self.subroutines: dict[str, _Subroutine] = {}
        self.depth = self.out.temporary(I64)  # of subroutine calls
        self.calls: dict[int, tuple[int, ...]] = {}
        self.inlined = 0
        self.assembled: dict[str, Function] = {}
        self.frame = Frame(kernel, "", {}, {}, {})

    def run(self) -> Lowered:
        """The lowered kernel. Raises UnsupportedFeature with the source line of what the machine does not have."""
        reached = list(self.reached())
        shared = [v for function in reached for v in function.variables if v.space == SHARED]
        named = set().union(*(_symbols(function) for function in reached))
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

    def reached(self) -> Iterator[Function]:
        """The kernel and every function that it calls or whose address is taken, once each."""
        seen, stack = {self.kernel.name}, [self.kernel]
        while stack:
            function = stack.pop()
            yield function
            names = _symbols(function)
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
            for name in _callees(stack.pop(), self.module):
                if name == function.name:
                    return True
                callee = self.module.functions.get(name)
                if callee is not None and callee.body is not None and name not in seen:
                    seen.add(name)
                    stack.append(callee)
        return False

    def new_frame(self, function: Function, slots: dict[str, Slots], after: int | None = None) -> Frame:
        """A fresh instance: registers, blocks for its labels, local variables, and where its pointers point."""
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
        frame.constants = _constants(function)
        frame.running_sums = running_sums(function)
        frame.guarded_reads = guarded_reads(function)
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

    # --- variables and addresses ------------------------------------------------------------------------------------

    def variable(self, name: str, frame: Frame | None = None) -> Variable | None:
        frame = frame or self.frame
        return frame.variables.get(name) or self.module.variables.get(name)

    def root_of_parameter(self, name: str, offset: int) -> int | None:
        """The root of a pointer that lies at an offset of a kernel parameter."""
        position = self.positions.get(name)
        if position is None:
            return None
        variable = self.kernel.parameters[position]
        if variable.type not in ("u64", "b64", "s64") or variable.count != 1 or offset:
            return None
        root = self.storage.parameter(position, self.names[position], f"param.{name}")
        self.pointers[root] = position, offset
        return root

    def root_of_variable(self, name: str, frame: Frame) -> int | None:
        variable = self.variable(name, frame)
        if variable is None or variable.space == "param":
            return None
        if variable.space == LOCAL:
            return self.storage.number(f"{frame.key}.{name}")
        if variable.space == SHARED:
            return self.storage.number(variable.name)
        root = self.storage.module_variable(variable)
        self.variables[root] = variable
        return root

    def input(self, key: tuple, make: Input) -> int:
        """The register of something a launch fills, made when it is first asked for."""
        if key not in self.inputs:
            self.inputs[key] = make
        return self.inputs[key].register

    def parameter(self, name: str, offset: int, dtype: np.dtype) -> int:
        """A register with bytes of a kernel parameter."""
        key = name, offset, dtype
        if key in self.inputs:
            return self.inputs[key].register
        register = self.out.temporary(dtype)
        return self.input(key, Input(register, dtype, self.positions[name], offset))

    def address_of(self, symbol: Symbol) -> Value:
        """The address that the name of a variable or function stands for, as PTX sees it: shared and local variables
        by their offset in the window, everything else by its generic address. int64."""
        frame = self.frame
        function = function_address(self.module, symbol.name)
        if function is not None:
            return Const(np.int64(function))
        if symbol.name in self.positions:
            return self.shifted(self.parameter_address(symbol.name), symbol.offset)
        variable = self.variable(symbol.name)
        if variable is None:
            self.out.malformed(f"the variable `{symbol.name}` is not declared")
        if variable.space == "param":
            self.out.refuse(f"the address of `{symbol.name}`, a parameter of a call")
        if variable.external and not variable.dynamic:
            self.out.malformed(f"the variable `{symbol.name}` is declared, but not defined: define it in this source")
        if variable.space == SHARED:
            return Const(np.int64(self.storage.shared[variable.name] + symbol.offset))
        if variable.space == LOCAL:
            offset = frame.local[variable.name] + symbol.offset
            if frame.stack is None:
                return Const(np.int64(offset))
            return self.shifted(frame.stack, offset)
        root = self.root_of_variable(symbol.name, frame)
        register = self.inputs.get(("variable", symbol.name))
        number = register.register if register else self.out.temporary(I64)
        self.input(("variable", symbol.name), Input(number, I64, variable=symbol.name))
        assert root is not None
        return self.shifted(number, symbol.offset)

    def parameter_address(self, name: str) -> int:
        """A register with the address of a kernel parameter, whose block then lies in memory."""
        if self.parameter_block is None:
            self.parameter_block = self.storage.root("(parameters)", Root("the parameters", GLOBAL, U8, 1))
        key = ("block", name)
        if key not in self.inputs:
            self.inputs[key] = Input(self.out.temporary(I64), I64, self.positions[name], variable=PARAMETERS)
        return self.inputs[key].register

    def workspace_word(self, number: int, dtype: np.dtype) -> int:
        """%envreg1 and %envreg2, the two halves of the address of the grid barrier's memory."""
        if self.workspace is None:
            self.workspace = self.storage.root("(workspace)", Root("the grid barrier", GLOBAL, U8, 4))
        self.cooperative = True
        key = ("workspace", number)
        if key not in self.inputs:
            self.inputs[key] = Input(self.out.temporary(dtype), dtype, variable=WORKSPACE, offset=number)
        return self.inputs[key].register

    def shared_size(self, dynamic: bool) -> int:
        """A register with the bytes of shared memory: dynamic ones (a launch says) or all."""
        size = self.out.temporary(U32)
        key = ("shared bytes",)
        given = self.input(
            key, Input(self.out.temporary(U32) if key not in self.inputs else -1, U32, variable=SHARED_BYTES)
        )
        more = 0 if dynamic else self.storage.shared_bytes
        self.out.emit(Alu(size, (given, Const(np.uint32(more))), "{0} + {1}", self.out.line, count=0))
        return size

    def shifted(self, register: int, offset: int) -> int:
        if not offset:
            return register
        out = self.out
        moved = out.temporary(I64)
        out.emit(Alu(moved, (register, Const(np.int64(offset))), "{0} + {1}", out.line, count=0))
        return moved

    def place(self, where: Operand, space: str) -> tuple[Address, str, int | None]:
        """(place, space, root) of a memory operand. A generic access whose array is known goes to that array's space;
        shared and local addresses are moved into their windows."""
        out, frame = self.out, self.frame
        if not isinstance(where, Memory):
            out.refuse(f"an address that `{out.inst.name if out.inst else ''}` does not take")
        base, offset = where.base, where.offset
        root: int | None = None
        if isinstance(base, Symbol):
            root = self.root_of_variable(base.name, frame)
            address: Value = self.address_of(Symbol(base.name))
            variable = self.variable(base.name)
            if variable is not None and space == GENERIC and variable.space in (SHARED, LOCAL):
                out.refuse(f"the address of {spoken_space(variable)} memory without a conversion to a generic one")
        else:
            if isinstance(base, Register):
                root = frame.roots.get(base.name)
                root = None if root == provenance.SEVERAL else root
            address = out.read(base, I64)
        if root is not None and space == GENERIC:
            # The address is a generic one already.
            return Address(address, offset=offset), self.storage.roots[root].space, root
        if root is not None and space != self.storage.roots[root].space and space in (SHARED, LOCAL, GLOBAL):
            root = None
        window = {SHARED: SHARED_BASE, LOCAL: LOCAL_BASE}.get(space)
        if window is not None:
            address = self.in_window(address, window)
        return Address(address, offset=offset), space, root

    def in_window(self, address: Value, window: int) -> Value:
        """A shared or local address as one of the machine's. The same register gives the same vector again, so the
        machine sees that accesses at constant offsets belong together."""
        out = self.out
        if isinstance(address, Const):
            return Const(np.int64(int(address.value) + window))
        known = out.windows.setdefault(address, {})
        if window not in known:
            known[window] = out.temporary(I64)
            out.emit(Alu(known[window], (address,), f"{{0}} + np.int64({window})", out.line, count=0))
        return known[window]

    def string(self, operand: Operand, before: Sequence[Statement]) -> str | None:
        """The text of the C string whose address an operand is known to be, after the statements `before`."""
        symbol = self.symbol(operand, before)
        variable = self.variable(symbol.name) if symbol is not None else None
        if variable is None or symbol is None:
            return None
        data = variable.initial[symbol.offset :].split(b"\0")[0]
        return data.decode("utf-8", "replace")

    def symbol(self, operand: Operand, before: Sequence[Statement]) -> Symbol | None:
        """The symbol whose address an operand holds after the statements `before` of its block."""
        for position in range(len(before) - 1, -1, -1):
            if not isinstance(operand, Register):
                break
            inst = before[position]
            if isinstance(inst, Instruction) and inst.operands and inst.operands[0] == operand:
                if inst.opcode not in ("mov", "cvta") or len(inst.operands) != 2:
                    return None
                operand = inst.operands[1]
        if isinstance(operand, Register):
            return self.frame.constants.get(operand.name)
        return operand if isinstance(operand, Symbol) else None


def lower(module: Module, name: str, parameters: Sequence[str], sources: SourceMap) -> Lowered:
    """The kernel `name` of a module as a program.

    `parameters` are the names of its parameters as the author wrote them ([]: not known).
    """
    kernel = module.functions[name]
    try:
        return Lowering(module, kernel, parameters, sources).run()
    except RecursionError:
        raise UnsupportedFeature(f"device functions that {name} calls nest too deeply", file=sources.main) from None


def function_address(module: Module, name: str) -> int | None:
    """The number that stands for the address of a device function."""
    return FUNCTION_BASE + FUNCTION_STEP * list(module.functions).index(name) if name in module.functions else None


def spoken_space(variable: Variable) -> str:
    return f"{variable.space} variable {variable.name}'s"


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


def _symbols(function: Function) -> set[str]:
    found: set[str] = set()

    def look(operand: object) -> None:
        if isinstance(operand, Symbol):
            found.add(operand.name)
        elif isinstance(operand, Memory):
            look(operand.base)
        elif isinstance(operand, Vector):
            for item in operand.items:
                look(item)

    for statement in function.body or ():
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                look(operand)
    for names in function.labels_of.values():
        found.update(names)
    return found


def _callees(function: Function, module: Module) -> set[str]:
    """Functions that a function may call: those it names, and any whose address is taken if it calls a pointer."""
    names = {
        operand.name
        for inst in function.body or ()
        if isinstance(inst, Instruction) and inst.opcode == "call"
        for operand in inst.operands
        if isinstance(operand, Symbol)
    }
    return names | {name for label in function.labels_of.values() for name in label if name in module.functions}


def _constants(function: Function) -> dict[str, Symbol]:
    """register -> the variable whose address it holds, for registers that are written once."""
    writes: dict[str, int] = {}
    copies: dict[str, Operand] = {}
    for inst in function.body or ():
        if not isinstance(inst, Instruction) or not inst.operands:
            continue
        target = inst.operands[0]
        if isinstance(target, Register):
            writes[target.name] = writes.get(target.name, 0) + 1
            if inst.opcode in ("mov", "cvta") and len(inst.operands) == 2:
                copies[target.name] = inst.operands[1]
    found: dict[str, Symbol] = {}
    for name in copies:
        operand: Operand = Register(name)
        steps = 0
        while isinstance(operand, Register) and writes.get(operand.name) == 1 and steps < 8:
            operand = copies.get(operand.name, Integer(0))
            steps += 1
        if isinstance(operand, Symbol):
            found[name] = operand
    return found


__all__ = ["Input", "Lowered", "Lowering", "lower"]
