"""From a module and arguments to a `Launch`: parameters as bytes, pointers as addresses, variables as allocations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpukit.errors import LaunchError
from gpukit.machine.addresses import BOOK, first_byte, owner_of
from gpukit.machine.frontends.ptx import parser, syntax
from gpukit.machine.frontends.ptx.lines import SourceMap
from gpukit.machine.frontends.ptx.lowering import Lowered, lower
from gpukit.machine.frontends.ptx.places import PARAMETERS, SHARED_BYTES, WORKSPACE, function_address
from gpukit.machine.frontends.ptx.storage import spoken
from gpukit.machine.frontends.ptx.syntax import Function, Variable
from gpukit.machine.memory import GlobalMemory, flat_bytes
from gpukit.machine.program import SHARED, Allocation, Launch

_WORKSPACE_BYTES = 64
MAX_STATIC_SHARED_BYTES = 49_152


def load(
    text: str, file: str = "kernel.ptx", sources: Mapping[str, str] | None = None, libraries: Sequence[str] = ()
) -> Module:
    """A PTX module.

    Args:
        text: PTX.
        file: what messages call the source when no line is known.
        sources: path -> text of the source files it was compiled from, as `.file` names them; by default the PTX.
        libraries: PTX of modules whose functions and variables it uses.

    Raises KernelSyntaxError when the text is not PTX.
    """
    return Module(text, file, sources or {}, libraries)


class Module:
    """A PTX module with the memory of its variables, which lives as long as the module does.

    `parsed` is the tree, `kernels` the names of its kernels.
    """

    def __init__(self, text: str, file: str, sources: Mapping[str, str], libraries: Sequence[str] = ()):
        self.text = text
        self.file = file
        self.parsed = parser.parse(text, file)
        for library in libraries:
            self.link(parser.parse(library, "a library"))
        self.sources = {path: content.splitlines() for path, content in sources.items()}
        self._memory: dict[str, np.ndarray] = {}

    def link(self, library: syntax.Module) -> None:
        """Take the functions and variables of another module that this one does not define. They have no lines of
        their own: what they do counts where they are called."""
        mine = self.parsed
        for name, function in library.functions.items():
            declared = mine.functions.get(name)
            if function.body is not None and (declared is None or declared.body is None):
                for statement in function.body:
                    if isinstance(statement, syntax.Instruction):
                        statement.location = None
                mine.functions[name] = function
        for name, variable in library.variables.items():
            if name not in mine.variables or mine.variables[name].external:
                mine.variables[name] = variable

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels, as the PTX has them."""
        return [f.name for f in self.parsed.functions.values() if f.entry and f.body is not None]

    def kernel(self, name: str, parameters: Sequence[str] = (), shown: str | None = None) -> Kernel:
        """A kernel by its PTX name. `parameters`: what the author calls its parameters; `shown`: what reports call it.

        Raises LaunchError when there is no such kernel.
        """
        function = self.parsed.functions.get(name)
        if function is None or not function.entry or function.body is None:
            known = ", ".join(self.kernels) or "none"
            raise LaunchError(f"there is no kernel {name!r} in {self.file}; it has: {known}")
        return Kernel(self, function, tuple(parameters), shown or name)

    def variable(self, name: str) -> np.ndarray:
        """The bytes of a `.global` or `.const` variable, uint8 (nbytes,): the memory the kernels work on.

        Raises LaunchError when there is no such variable.
        """
        if name not in self.parsed.variables:
            known = ", ".join(v for v in self.parsed.variables if not v.startswith(("$", "_ZN")))
            raise LaunchError(f"there is no variable {name!r} in {self.file}" + (f"; it has: {known}" if known else ""))
        if name not in self._memory:
            variable = self.parsed.variables[name]
            data = np.zeros(variable.nbytes, np.uint8)
            data[: len(variable.initial)] = np.frombuffer(variable.initial, np.uint8)
            self._memory[name] = data
        return self._memory[name]


@dataclass(frozen=True)
class Array:
    """A pointer argument: the address of `view`'s first element; `whole` is the memory that may be reached from it."""

    view: np.ndarray
    whole: np.ndarray | None = None


@dataclass
class Kernel:
    """A kernel of a module. Lowered once, when it is first launched."""

    module: Module
    function: Function
    parameters: tuple[str, ...]
    name: str
    _lowered: Lowered | None = field(default=None, repr=False)

    @property
    def lowered(self) -> Lowered:
        """The program and its inputs. Raises UnsupportedFeature, naming the source line."""
        if self._lowered is None:
            module = self.module
            sources = SourceMap(module.file, module.sources, module.parsed.files, module.text.splitlines())
            made = lower(module.parsed, self.function.name, self.parameters, sources)
            made.program.kernel_name = self.name
            self._lowered = made
        return self._lowered

    def bind(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[Any],
        shared_bytes: int,
        memory: GlobalMemory,
        described: Sequence[dict] = (),
    ) -> Launch:
        """Everything the executor needs to run the kernel.

        Args:
            args: one per parameter of the PTX: an `Array` (or ndarray) for a pointer, a NumPy scalar or bytes-like
                value (np.void, 0-d array) of the parameter's size for anything else, None for a null pointer.
            memory: the address space of the launch.
            described: name, dtype and shape of each argument, for the report.

        Raises LaunchError for arguments that do not fit.
        """
        binder = _Binder(self, memory)
        return binder.launch(grid, block, args, shared_bytes, described)

    def parameter_name(self, position: int) -> str:
        return self.parameters[position] if position < len(self.parameters) else f"parameter {position + 1}"


class _Binder:
    """Puts the arguments of one launch in place."""

    def __init__(self, kernel: Kernel, memory: GlobalMemory):
        self.kernel = kernel
        self.memory = memory
        self.pointers: dict[int, Allocation] = {}
        self.shared_owners: set[int] = set()

    def launch(self, grid, block, args: Sequence[Any], shared_bytes: int, described: Sequence[dict]) -> Launch:
        kernel, lowered = self.kernel, self.kernel.lowered
        parameters = kernel.function.parameters
        static = sum(r.nbytes for r in lowered.program.roots if r.space == SHARED and not r.dynamic)
        if static > MAX_STATIC_SHARED_BYTES:
            raise LaunchError(
                f"launch_config: the kernel `{kernel.name}` declares {static:,} bytes of shared memory; compilers take "
                f"at most {MAX_STATIC_SHARED_BYTES:,}: use a smaller tile, or `extern __shared__` sized at launch",
                file=kernel.module.file,
            )
        if len(args) != len(parameters):
            names = ", ".join(kernel.parameter_name(i) for i in range(len(parameters)))
            raise LaunchError(
                f"the kernel `{kernel.name}({names})` takes {len(parameters)} argument(s), {len(args)} were given",
                file=kernel.module.file,
            )
        self.find_overlaps(args)
        values = [self.value(i, v, a) for i, (v, a) in enumerate(zip(parameters, args, strict=True))]
        program = lowered.program
        allocations: list[Allocation | None] = [None] * len(program.roots)
        for root, (position, _) in lowered.pointers.items():
            allocations[root] = self.pointers.get(position) or self.nothing(position)
        addresses: dict[str | int, int] = {}  # of a variable by its name, of a parameter by its position
        for root, variable in lowered.variables.items():
            allocations[root] = made = self.variable(variable, program.roots[root].dtype)
            addresses[variable.name] = made.base
        if lowered.parameter_block is not None:
            offsets, block_memory = self.parameter_block(parameters, values)
            allocations[lowered.parameter_block] = block_memory
            addresses |= {i: block_memory.base + offset for i, offset in enumerate(offsets)}
        if lowered.workspace is not None:
            made = self.memory.allocate(np.zeros(_WORKSPACE_BYTES, np.uint8), name="the grid barrier")
            allocations[lowered.workspace] = made
        registers: dict[int, np.generic] = {}
        for item in lowered.inputs:
            if item.variable == WORKSPACE:
                assert lowered.workspace is not None
                base = allocations[lowered.workspace].base  # type: ignore[union-attr]
                registers[item.register] = item.dtype.type(base >> 32 if item.offset == 1 else base & 0xFFFFFFFF)
            elif item.variable == SHARED_BYTES:
                registers[item.register] = item.dtype.type(shared_bytes)
            elif item.variable == PARAMETERS:
                registers[item.register] = np.int64(addresses[item.parameter])
            elif item.variable:
                registers[item.register] = np.int64(addresses[item.variable])
            else:
                raw = values[item.parameter][item.offset : item.offset + item.dtype.itemsize]
                raw = raw.ljust(item.dtype.itemsize, b"\0")
                registers[item.register] = np.frombuffer(raw, item.dtype)[0]
        launch = Launch(program, grid, block, registers, allocations, shared_bytes, list(described))
        if lowered.follows_pointers:
            launch.others = self.others()
            launch.former = BOOK.former
        return launch

    def value(self, position: int, parameter: Variable, argument: Any) -> bytes:
        """The bytes of a parameter."""
        if isinstance(argument, np.ndarray) and not (argument.ndim == 0 and argument.nbytes == parameter.nbytes):
            argument = Array(argument)
        if isinstance(argument, Array):
            return self.pointer(position, parameter, argument)
        if argument is None:
            return bytes(parameter.nbytes)
        raw = np.asarray(argument).tobytes()
        if len(raw) == 8:
            self.number(position, raw)
        if len(raw) != parameter.nbytes:
            raise LaunchError(
                f"the argument `{self.kernel.parameter_name(position)}` has {len(raw)} bytes "
                f"({np.asarray(argument).dtype}), the kernel's parameter has {parameter.nbytes}",
                file=self.kernel.module.file,
            )
        return raw

    def pointer(self, position: int, parameter: Variable, argument: Array) -> bytes:
        name = self.kernel.parameter_name(position)
        if parameter.nbytes != 8:
            raise LaunchError(
                f"the argument `{name}` is an array, but the kernel's parameter has {parameter.nbytes} bytes and is no "
                "pointer",
                file=self.kernel.module.file,
            )
        owner = owner_of(argument.view)
        whole = argument.whole if argument.whole is not None else owner if id(owner) in self.shared_owners else None
        if not argument.view.flags.forc and whole is None:
            whole = owner
        root = argument.view if whole is None else whole
        address = BOOK.address(argument.view, name)
        base = address + first_byte(root) - first_byte(argument.view)
        allocation = self.memory.allocate(argument.view, owner=whole, name=name, base=base)
        self.pointers[position] = allocation
        return self.memory.address_of(argument.view, allocation).to_bytes(8, "little")

    def find_overlaps(self, args: Sequence[Any]) -> None:
        """Owners of which two arguments share a part: these views are one memory, so that races between them show."""
        views = [a.view if isinstance(a, Array) else a for a in args if isinstance(a, Array | np.ndarray)]
        for i, one in enumerate(views):
            for other in views[:i]:
                if np.may_share_memory(one, other) and owner_of(one) is owner_of(other):
                    self.shared_owners.add(id(owner_of(one)))

    def number(self, position: int, raw: bytes) -> None:
        """A number given for a pointer: it may be the address of an array that the book knows."""
        found = BOOK.find(int.from_bytes(raw, "little"))
        if found is not None:
            place, owner = found
            self.pointers[position] = self.memory.allocate(owner, name=place.name, base=place.base)

    def others(self) -> list[Allocation]:
        """Arrays of earlier launches that still exist: a pointer in memory may lead to them."""
        mine = [(a.base, a.base + a.nbytes) for a in self.memory.allocations]
        return [
            Allocation(place.name, place.base, flat_bytes(owner), owner.shape, owner.dtype, not owner.flags.writeable)
            for place, owner in BOOK.living()
            if not any(low <= place.base and place.base + place.nbytes <= high for low, high in mine)
        ]

    def nothing(self, position: int) -> Allocation:
        """What a null pointer, or a number given for a pointer, may reach."""
        return self.memory.allocate(np.zeros(0, np.uint8), name=self.kernel.parameter_name(position))

    def variable(self, variable: Variable, element: np.dtype | None = None) -> Allocation:
        """The memory of a variable of the module; `element` is what it is an array of, where that is known."""
        data = self.kernel.module.variable(variable.name)
        name, shown = spoken(variable.name), data
        if element is not None and data.size and data.size % element.itemsize == 0:
            shown = data.view(element)
        made = self.memory.allocate(shown, name=name, base=BOOK.address(data, name))
        for offset, symbol in variable.pointers.items():
            parsed = self.kernel.module.parsed
            target = parsed.variables.get(symbol.name)
            there = self.variable(target).base if target is not None else function_address(parsed, symbol.name)
            if there is not None:
                there += symbol.offset
                data[offset : offset + 8] = np.frombuffer(there.to_bytes(8, "little"), np.uint8)
        return made

    def parameter_block(self, parameters: Sequence[Variable], values: list[bytes]) -> tuple[list[int], Allocation]:
        """(offset of each parameter, the memory that holds them all)."""
        offsets, data = [], bytearray()
        for parameter, value in zip(parameters, values, strict=True):
            data.extend(bytes(-len(data) % max(1, parameter.align)))
            offsets.append(len(data))
            data.extend(value)
        block = np.frombuffer(bytes(data), np.uint8)
        return offsets, self.memory.allocate(block, name="the parameters")
