"""From a kernel and its arguments to a `Launch`: argument types, compilation (cached), registers and allocations."""

from __future__ import annotations

import enum
import sys
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpukit.errors import GpukitError, KernelSyntaxError, KernelTypeError, LaunchError
from gpukit.machine.addresses import owner_of
from gpukit.machine.frontends import cleanup
from gpukit.machine.frontends.python import source as sources
from gpukit.machine.frontends.python import types
from gpukit.machine.frontends.python.arrays import layout_of, memory_dtype
from gpukit.machine.frontends.python.builder import Builder, Memory
from gpukit.machine.frontends.python.emit import Emitter
from gpukit.machine.frontends.python.inference import Compiler
from gpukit.machine.frontends.python.lowering import parameter_names
from gpukit.machine.frontends.python.source import Source
from gpukit.machine.frontends.python.values import (
    INT64,
    UNKNOWN,
    Array,
    EnumMember,
    NoneValue,
    Record,
    Scalar,
    Tuple,
    Value,
    anonymous,
    integer,
)
from gpukit.machine.memory import GlobalMemory
from gpukit.machine.program import GLOBAL, SHARED_BASE, Allocation, Const, Launch, Program, Root, SourceLine

# --- argument types --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScalarType:
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class ArrayType:
    dtype: np.dtype
    ndim: int
    layout: str
    readonly: bool


@dataclass(frozen=True, slots=True)
class RecordType:
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class TupleType:
    items: tuple[ArgumentType, ...]
    names: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class EnumType:
    kind: type
    value: ArgumentType
    is_int: bool


@dataclass(frozen=True, slots=True)
class NoneType:
    pass


ArgumentType = ScalarType | ArrayType | RecordType | TupleType | EnumType | NoneType


def type_of(value: object, name: str) -> ArgumentType:
    """The type a kernel is compiled for when it is given this argument.

    Raises KernelTypeError or LaunchError for what no kernel can take.
    """
    if isinstance(value, np.ndarray):
        return _array_type(value, name, host=True)
    if isinstance(value, enum.Enum):
        return EnumType(type(value), type_of(value.value, name), isinstance(value, int))
    if isinstance(value, np.void):
        _check_dtype(value.dtype, name)
        return RecordType(value.dtype)
    if isinstance(value, np.generic):
        dtype = memory_dtype(value.dtype)
        if dtype not in types.TYPES:
            raise KernelTypeError(f"the argument `{name}` has dtype {dtype}, which a kernel cannot compute with")
        return ScalarType(dtype)
    if isinstance(value, bool | int | float | complex):
        found = types.literal(value)
        if found is None:
            raise KernelTypeError(f"the argument `{name}` is {value}, which does not fit in 64 bits")
        return ScalarType(found)
    if value is None:
        return NoneType()
    if isinstance(value, tuple):
        fields = tuple(getattr(value, "_fields", ()))
        items = tuple(type_of(item, f"{name}[{i}]") for i, item in enumerate(value))
        return TupleType(items, fields, type(value).__name__)
    array = getattr(value, "__gpukit_array__", None)
    if isinstance(array, np.void):
        return RecordType(array.dtype)
    if isinstance(array, np.ndarray):
        return RecordType(array.dtype) if _is_record(value, array) else _array_type(array, name, host=False)
    raise KernelTypeError(f"the argument `{name}` is {_advice(value)}")


def _is_record(value: object, array: np.ndarray) -> bool:
    return array.ndim == 0 and array.dtype.fields is not None


def _advice(value: object) -> str:
    kind = type(value).__name__
    if hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__"):
        return f"a {kind} in GPU memory, which the CPU machine cannot reach: pass a NumPy array"
    if isinstance(value, list | set | dict):
        return f"a {kind}, which a kernel cannot take: pass np.array(...) of it"
    if isinstance(value, str):
        return "a string, which a kernel cannot take: pass a number that stands for it"
    if callable(value):
        return f"a {kind}, which a kernel cannot take: use the function as a global or closure variable instead"
    return f"a {kind}, which a kernel cannot take: pass NumPy arrays, numbers, or tuples of them"


def _check_dtype(dtype: np.dtype, name: str) -> None:
    if dtype.hasobject:
        raise KernelTypeError(f"the argument `{name}` holds Python objects: convert it, for example to float64")
    if not dtype.isnative:
        raise KernelTypeError(
            f"the argument `{name}` has foreign byte order: use array.astype(dtype.newbyteorder('='))"
        )
    if dtype.fields is None and dtype.kind not in "SU" and memory_dtype(dtype) not in types.TYPES:
        raise KernelTypeError(f"the argument `{name}` has dtype {dtype}, which a kernel cannot compute with")


def _array_type(array: np.ndarray, name: str, host: bool) -> ArrayType:
    _check_dtype(array.dtype, name)
    layout = layout_of(array)
    if host and layout == "A" and 0 not in array.strides:
        raise LaunchError(
            f"the array `{name}` is not contiguous, so it cannot be copied to a GPU in one piece: "
            "pass np.ascontiguousarray(...) of it"
        )
    return ArrayType(memory_dtype(array.dtype), array.ndim, layout, not array.flags.writeable)


# --- parameters ------------------------------------------------------------------------------------------------------


def _parameter(kind: ArgumentType, name: str, position: int, memory: Memory) -> Value:
    """The value a parameter starts as, without registers."""
    if isinstance(kind, ScalarType):
        return Scalar(kind.dtype, UNKNOWN)
    if isinstance(kind, EnumType):
        return EnumMember(kind.kind, _parameter(kind.value, name, position, memory), kind.is_int)
    if isinstance(kind, NoneType):
        return NoneValue()
    if isinstance(kind, TupleType):
        items = tuple(
            _parameter(item, f"{name}.{kind.names[i]}" if kind.names else f"{name}[{i}]", position, memory)
            for i, item in enumerate(kind.items)
        )
        return Tuple(items, kind.names, kind.kind)
    ndim, layout = (0, "C") if isinstance(kind, RecordType) else (kind.ndim, kind.layout)
    root = memory.add(Root(name, GLOBAL, kind.dtype, kind.dtype.itemsize, parameter=position))
    unknown = Scalar(INT64, UNKNOWN)
    strides = [unknown] * ndim
    if ndim and layout in "CF":
        strides[-1 if layout == "C" else 0] = integer(kind.dtype.itemsize)
    readonly = isinstance(kind, ArrayType) and kind.readonly
    shape = (unknown,) * ndim
    array = Array(kind.dtype, unknown, shape, tuple(strides), GLOBAL, root, name, layout, readonly)
    return Record(array) if isinstance(kind, RecordType) else array


@dataclass(slots=True)
class Compiled:
    """A kernel ready for any launch with its argument types.

    `parameters` are the kernel's parameters as values whose registers the launch fills; `bases` and `extents` are the
    registers of frozen and dynamic shared arrays, by root; `frozen` the arrays compiled into the kernel.
    """

    program: Program
    parameters: tuple[Value, ...]
    bases: dict[int, int]
    extents: dict[int, int]
    frozen: dict[int, np.ndarray]


_compiled: weakref.WeakKeyDictionary[Source, dict[tuple[ArgumentType, ...], Compiled]] = weakref.WeakKeyDictionary()


def compile_kernel(source: Source, argument_types: Sequence[ArgumentType]) -> Compiled:
    """The program of a kernel for the given argument types (compiled once for each list of types).

    Raises KernelSyntaxError, UnsupportedFeature or KernelTypeError, with file and line.
    """
    known = _compiled.setdefault(source, {})
    key = tuple(argument_types)
    if key not in known:
        known[key] = _compile(source, key)
    return known[key]


DEEP = 20_000  # Python frames, for source that nests deeply; they are on the heap


def _compile(source: Source, argument_types: tuple[ArgumentType, ...]) -> Compiled:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEP))
    try:
        return _translate(source, argument_types)
    except RecursionError:
        raise KernelSyntaxError(
            f"`{source.name}` nests too deeply to be compiled: split it into device functions",
            file=source.file,
            line=source.first_line,
        ) from None
    finally:
        sys.setrecursionlimit(limit)


def _translate(source: Source, argument_types: tuple[ArgumentType, ...]) -> Compiled:
    memory = Memory()
    names = parameter_names(source.tree)
    kinds = [
        _parameter(kind, names[i] if i < len(names) else f"argument {i + 1}", i, memory)
        for i, kind in enumerate(argument_types)
    ]
    if source.tree.args.vararg is not None:
        fixed = len(names)
        kinds = [*kinds[:fixed], Tuple(tuple(kinds[fixed:]))]
    compiler = Compiler(source, memory)
    instance = compiler.instance(None, source, tuple(anonymous(kind) for kind in kinds), {})
    if instance.returns is not None and not isinstance(instance.returns, NoneValue):
        raise KernelTypeError(
            f"the kernel `{source.name}` returns {instance.returns.describe()}: a kernel cannot return a value, "
            "write it to an array argument",
            file=source.file,
            line=source.first_line,
        )
    builder = Builder(memory, source.file)
    parameters = tuple(builder.fresh(kind, name) for kind, name in zip(kinds, _shown(source), strict=True))
    Emitter(builder, compiler).kernel(instance, parameters)
    return _assemble(source, compiler, builder, parameters)


def _shown(source: Source) -> list[str]:
    names = parameter_names(source.tree)
    if source.tree.args.vararg is not None:
        names.append(source.tree.args.vararg.arg)
    return names


def _assemble(source: Source, compiler: Compiler, builder: Builder, parameters: tuple[Value, ...]) -> Compiled:
    memory = builder.memory
    given = {leaf.operand for value in parameters for leaf in value.leaves if isinstance(leaf.operand, int)}
    given |= set(builder.bases.values()) | set(builder.extents.values())
    blocks, renumbered = cleanup.tidy(builder.blocks, builder.registers, builder.calls, given)
    cleanup.mark_roots(blocks, memory.roots)
    registers = [builder.registers[old] for old in sorted(renumbered, key=renumbered.__getitem__)]
    shared = memory.shared_bytes
    if builder.extents:
        shared = -(-shared // 16) * 16
        for root in memory.roots:
            if root.dynamic:
                root.offset = shared
    shown = [s for s in compiler.sources.values() if not s.hidden]
    own = sorted(shown, key=lambda s: (s is not source, s.identity))
    lines = {(s.file, number): SourceLine(s.file, number, text) for s in own for number, text in sorted(s.text.items())}
    program = Program(
        kernel_name=source.name,
        file=source.file,
        blocks=blocks,
        registers=registers,
        lines=builder.lines,
        roots=memory.roots,
        static_shared_bytes=shared,
        local_bytes=memory.local_bytes,
        source=list(lines.values()),
    )

    def renumber(value: Value) -> Value:
        leaves = [
            Scalar(leaf.dtype, renumbered[leaf.operand]) if isinstance(leaf.operand, int) else leaf
            for leaf in value.leaves
        ]
        return value.with_leaves(leaves) if leaves else value

    return Compiled(
        program,
        tuple(renumber(value) for value in parameters),
        {root: renumbered[register] for root, register in builder.bases.items()},
        {root: renumbered[register] for root, register in builder.extents.items()},
        {root: copy for root, copy, _ in memory.constants.values()},
    )


# --- launches --------------------------------------------------------------------------------------------------------


def bind(
    kernel: object,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    args: Sequence[object],
    shared_bytes: int,
    memory: GlobalMemory,
) -> Launch:
    """Everything the executor needs to run a kernel on these arguments.

    `kernel` is a Python function, a dispatcher (`@cuda.jit` of any flavour), or a `Source` from `load`. Arrays are
    given addresses in `memory` and are updated in place.

    Raises LaunchError for arguments that do not fit the parameters, and what `compile_kernel` raises.
    """
    source = sources.of(kernel)
    args = _complete(source, args)
    names = parameter_names(source.tree)
    shown = [names[i] if i < len(names) else f"{_shown(source)[-1]}[{i - len(names)}]" for i in range(len(args))]
    try:
        kinds = [type_of(value, name) for value, name in zip(args, shown, strict=True)]
    except GpukitError as error:
        if error.line is not None:
            raise
        raise type(error)(error.message, file=source.file, line=source.first_line) from None
    compiled = compile_kernel(source, kinds)
    filler = _Filler(compiled, memory)
    values = list(compiled.parameters)
    if source.tree.args.vararg is not None:
        args_by_parameter: list[object] = [*args[: len(names)], tuple(args[len(names) :])]
    else:
        args_by_parameter = list(args)
    for value, argument in zip(values, args_by_parameter, strict=True):
        filler.fill(value, argument)
    filler.finish(shared_bytes)
    described = [_describe(name, kind, value) for name, kind, value in zip(shown, kinds, args, strict=True)]
    return Launch(compiled.program, grid, block, filler.registers, filler.allocations, shared_bytes, described)


def _complete(source: Source, args: Sequence[object]) -> list[object]:
    """The arguments with defaults filled in."""
    names = parameter_names(source.tree)
    given = list(args)
    defaults = list(source.defaults)
    if len(given) < len(names) and len(names) - len(given) <= len(defaults):
        given += defaults[len(defaults) - (len(names) - len(given)) :]
    if len(given) < len(names) or (len(given) > len(names) and source.tree.args.vararg is None):
        plural = "" if len(names) == 1 else "s"
        what = f"kernel `{source.name}({', '.join(_shown(source))})` takes {len(names)} argument{plural}"
        were = "was" if len(args) == 1 else "were"
        missing = f"; missing: {', '.join(names[len(args) :])}" if len(given) < len(names) else ""
        raise LaunchError(f"{what}, {len(args)} {were} given{missing}", file=source.file, line=source.first_line)
    return given


class _Filler:
    """Puts the arguments of one launch into the registers of the parameters."""

    def __init__(self, compiled: Compiled, memory: GlobalMemory):
        self.compiled = compiled
        self.memory = memory
        self.registers: dict[int, np.generic] = {}
        self.allocations: list[Allocation | None] = [None] * len(compiled.program.roots)

    def _set(self, leaf: Scalar, value: object) -> None:
        if isinstance(leaf.operand, Const):
            return
        self.registers[leaf.operand] = leaf.dtype.type(value)

    def fill(self, value: Value, argument: object) -> None:
        if isinstance(value, Scalar):
            if isinstance(argument, np.datetime64 | np.timedelta64):
                argument = argument.view(np.int64)
            self._set(value, argument)
        elif isinstance(value, EnumMember):
            self.fill(value.value, argument.value)  # type: ignore[attr-defined]
        elif isinstance(value, Tuple):
            assert isinstance(argument, tuple)
            for part, item in zip(value.items, argument, strict=True):
                self.fill(part, item)
        elif isinstance(value, Array):
            self._array(value, argument)
        elif isinstance(value, Record):
            self._array(value.array, _as_array(argument))

    def _array(self, value: Array, argument: object) -> None:
        owner = None
        array = argument
        if not isinstance(argument, np.ndarray):
            array = argument.__gpukit_array__  # type: ignore[attr-defined]
            owner = owner_of(array)
        elif value.layout == "A":  # a broadcast array: all its elements are in the smaller array behind it
            owner = owner_of(argument)
        assert isinstance(array, np.ndarray) and value.root is not None
        allocation = self.memory.allocate(array, owner=owner, name=value.name)
        self.allocations[value.root] = allocation
        self._set(value.base, self.memory.address_of(array, allocation))
        for leaf, extent in zip(value.shape, array.shape, strict=True):
            self._set(leaf, extent)
        for leaf, stride in zip(value.strides, array.strides, strict=True):
            self._set(leaf, stride)

    def finish(self, shared_bytes: int) -> None:
        """Frozen arrays, and what dynamic shared memory depends on."""
        program = self.compiled.program
        for root, array in self.compiled.frozen.items():
            allocation = self.memory.allocate(array, owner=owner_of(array), name=program.roots[root].name)
            self.allocations[root] = allocation
            if root in self.compiled.bases:
                self.registers[self.compiled.bases[root]] = np.int64(self.memory.address_of(array, allocation))
        for root, register in self.compiled.extents.items():
            memory_ = program.roots[root]
            self.registers[register] = np.int64(shared_bytes // memory_.dtype.itemsize)
            self.registers[self.compiled.bases[root]] = np.int64(SHARED_BASE + program.static_shared_bytes)


def _as_array(argument: object) -> object:
    """A record by reference to a copy: a kernel's changes do not reach the caller's."""
    if isinstance(argument, np.void):
        return np.array(argument)
    array = argument.__gpukit_array__  # type: ignore[attr-defined]
    return argument if isinstance(array, np.ndarray) else np.array(array)


def _describe(name: str, kind: ArgumentType, value: object) -> dict:
    if isinstance(kind, ArrayType):
        array = getattr(value, "__gpukit_array__", value)
        return {"name": name, "kind": "array", "dtype": str(array.dtype), "shape": array.shape}  # type: ignore[attr-defined]
    if isinstance(kind, ScalarType):
        return {"name": name, "kind": "scalar", "dtype": str(kind.dtype), "shape": ()}
    if isinstance(kind, RecordType):
        return {"name": name, "kind": "record", "dtype": str(kind.dtype), "shape": ()}
    word = {TupleType: "tuple", EnumType: "enum", NoneType: "none"}[type(kind)]
    return {"name": name, "kind": word, "dtype": "", "shape": ()}
