"""numba.cuda kernels to PTX through numba-cuda's compiler. It needs no GPU.

A kernel's argument becomes several parameters in PTX: an array is two unused pointers, its size, its item size, its
data, its shape and its strides. `Slot` says which part of which argument a parameter is.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import importlib
import importlib.util
import inspect
import linecache
import os
import platform
import re
import traceback
import warnings
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gpukit.compilers import toolkit
from gpukit.compilers.numba_names import function_of, options_of
from gpukit.compilers.nvrtc import compile_cuda
from gpukit.errors import GpukitError, InternalError, KernelTypeError, LaunchError, UnsupportedFeature
from gpukit.machine.addresses import owner_of
from gpukit.machine.frontends import ptx as ptx_frontend
from gpukit.machine.frontends import python as python_frontend
from gpukit.machine.frontends.arguments import as_numpy
from gpukit.standin import real_numba_cuda

if TYPE_CHECKING:
    from types import FunctionType

    from gpukit.machine.memory import GlobalMemory
    from gpukit.machine.program import Launch

COMPUTE_CAPABILITY = (9, 0)
_WORD = np.dtype(np.int64)

# What a parameter holds. UNUSED: a pointer no kernel follows; RECORD: the address of a record.
UNUSED, SIZE, ITEM_SIZE, DATA, SHAPE, STRIDE = "unused", "size", "itemsize", "data", "shape", "stride"
VALUE, REAL, IMAG, RECORD, VALID = "value", "real", "imag", "record", "valid"


@dataclass(frozen=True, slots=True)
class Slot:
    """One parameter of the PTX: `part` of argument number `argument`; `path` leads through tuples, `axis` is that of a
    shape or stride. `dtype` is the parameter's."""

    argument: int
    path: tuple[int, ...]
    part: str
    dtype: np.dtype
    axis: int = 0


@dataclass(frozen=True, slots=True)
class NumbaPtx:
    """A compiled kernel.

    text: the PTX, with line information. entry: the kernel's name in it.
    libraries: PTX of the C++ functions that it calls.
    slots: what each of its parameters holds, in order.
    parameters: the Python function's parameters, one per argument; defaults: values of the last ones.
    file, line: where the function is.
    """

    text: str
    libraries: tuple[str, ...]
    entry: str
    slots: tuple[Slot, ...]
    parameters: tuple[str, ...]
    defaults: tuple[Any, ...]
    name: str
    file: str
    line: int

    def names(self) -> list[str]:
        """What each parameter of the PTX is called in messages: "x", "x.shape[0]", "pair[1]"."""
        return [self._name(slot) for slot in self.slots]

    def _name(self, slot: Slot) -> str:
        name = self.parameters[slot.argument] + "".join(f"[{i}]" for i in slot.path)
        if slot.part in (DATA, VALUE, RECORD):
            return name
        return f"{name}.{slot.part}" + (f"[{slot.axis}]" if slot.part in (SHAPE, STRIDE) else "")


def compile_numba(kernel: Any, arguments: Sequence[Any]) -> NumbaPtx:
    """Compile a numba.cuda kernel for the types of these arguments.

    Args:
        kernel: a function, a @cuda.jit kernel of numba-cuda or of gpukit, or one from `gpukit.load`.
        arguments: values of the types the kernel is launched with; defaults may be left out.

    Raises:
        UnsupportedFeature: numba-cuda is not installed, or the kernel uses what it does not have.
        KernelTypeError: the kernel does not compile for these types.
        LaunchError: the number of arguments is wrong.
    """
    return compiled(kernel, arguments).ptx


def compiled(kernel: Any, arguments: Sequence[Any]) -> CompiledKernel:
    """The kernel at the compiled level for the types of these arguments. Raises as `compile_numba`.

    A kernel is compiled once for each list of types; what its global names mean is read then.
    """
    with real_numba_cuda():
        _numba_cuda()
        function = function_of(kernel)
        values = complete(function, arguments)
        kinds = tuple(_numba_type(value, name) for value, name in zip(values, _names(function, values), strict=True))
        options = options_of(kernel)
        known = _compiled.setdefault(function, {})
        key = (kinds, tuple(sorted(options.items())))
        if key not in known:
            known[key] = CompiledKernel(_compile(function, kinds, options))
        return known[key]


_compiled: weakref.WeakKeyDictionary[FunctionType, dict[tuple, CompiledKernel]] = weakref.WeakKeyDictionary()


@dataclass
class CompiledKernel:
    """A numba kernel at the compiled level, for one list of argument types; `profile`, `check` and `launch` take it."""

    ptx: NumbaPtx

    @functools.cached_property
    def kernel(self) -> ptx_frontend.Kernel:
        """The kernel as the PTX front end has it."""
        module = ptx_frontend.load(self.ptx.text, self.ptx.file, _sources(self.ptx), self.ptx.libraries)
        return module.kernel(self.ptx.entry, self.ptx.names(), self.ptx.name)

    @property
    def name(self) -> str:
        return self.ptx.name

    def __gpukit_bind__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: tuple,
        shared_bytes: int,
        memory: GlobalMemory,
    ) -> Launch:
        """The launch on these arguments, which must have the types the kernel was compiled for."""
        values = (*args, *self.ptx.defaults[len(self.ptx.defaults) + len(args) - len(self.ptx.parameters) :])
        parts = [_part(slot, values) for slot in self.ptx.slots]
        described = [_described(name, value) for name, value in zip(self.ptx.parameters, values, strict=True)]
        return self.kernel.bind(grid, block, parts, shared_bytes, memory, described)


# --- arguments and their types ---------------------------------------------------------------------------------------


def complete(function: FunctionType, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with defaults filled in."""
    code = function.__code__
    names, defaults = code.co_varnames[: code.co_argcount], function.__defaults__ or ()
    missing = len(names) - len(arguments)
    values = tuple(arguments) + (defaults[len(defaults) - missing :] if 0 < missing <= len(defaults) else ())
    if len(values) < len(names) or (len(values) > len(names) and not _takes_more(function)):
        raise LaunchError(
            f"kernel `{function.__name__}({', '.join(names)})` takes {len(names)} argument"
            f"{'s' * (len(names) != 1)}, {len(arguments)} given",
            file=code.co_filename,
            line=code.co_firstlineno,
        )
    return values


def _takes_more(function: FunctionType) -> bool:
    return bool(function.__code__.co_flags & inspect.CO_VARARGS)


def _names(function: FunctionType, values: Sequence[Any]) -> list[str]:
    """The name of each argument: its parameter's, "args[0]" for those of `*args`."""
    code = function.__code__
    names = list(code.co_varnames[: code.co_argcount])
    if _takes_more(function):
        rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        names += [f"{rest}[{i}]" for i in range(len(values) - len(names))]
    return names


def _numba_type(value: Any, name: str) -> Any:
    """numba's type of an argument. Raises KernelTypeError or LaunchError for what no kernel takes."""
    from numba.cuda.typing.typeof import typeof

    python_frontend.type_of(value, name)
    return typeof(_plain(value))


def _plain(value: Any) -> Any:
    """The argument as NumPy and Python know it."""
    if isinstance(value, tuple):
        items = [_plain(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    array = as_numpy(value)
    if array is None:
        inner = getattr(value, "__gpukit_array__", None)
        return value if inner is None else inner
    if array.ndim == 0 and array.dtype.fields is not None:
        return array[()]
    return array


def _slots(kind: Any, argument: int, path: tuple[int, ...] = ()) -> Iterator[Slot]:
    """The parameters that an argument of this numba type becomes, in order."""
    types: Any = importlib.import_module("numba.cuda.types")

    def slot(part: str, dtype: Any = _WORD, axis: int = 0) -> Slot:
        return Slot(argument, path, part, np.dtype(dtype), axis)

    if isinstance(kind, types.Array):
        yield from (slot(UNUSED), slot(UNUSED), slot(SIZE), slot(ITEM_SIZE), slot(DATA))
        yield from (slot(SHAPE, axis=axis) for axis in range(kind.ndim))
        yield from (slot(STRIDE, axis=axis) for axis in range(kind.ndim))
    elif isinstance(kind, types.Record):
        yield slot(RECORD)
    elif isinstance(kind, types.Complex):
        part = np.float32 if kind == types.complex64 else np.float64
        yield from (slot(REAL, part), slot(IMAG, part))
    elif isinstance(kind, types.Boolean):
        yield slot(VALUE, np.uint8)
    elif isinstance(kind, types.Integer | types.Float):
        yield slot(VALUE, str(kind))
    elif isinstance(kind, types.NPDatetime | types.NPTimedelta):
        yield slot(VALUE, np.int64)
    elif isinstance(kind, types.BaseTuple):
        for i, item in enumerate(kind):
            yield from _slots(item, argument, (*path, i))
    elif isinstance(kind, types.EnumMember):
        yield from _slots(kind.dtype, argument, path)
    elif isinstance(kind, types.Optional):
        yield from _slots(kind.type, argument, path)
        yield slot(VALID, np.uint8)
    elif isinstance(kind, types.NoneType):
        yield slot(UNUSED)
    elif not isinstance(kind, types.Omitted):  # the value is compiled in
        raise KernelTypeError(f"argument {argument + 1} is of numba's type {kind}, which a kernel cannot take")


def _part(slot: Slot, values: Sequence[Any]) -> Any:
    """What goes into a parameter: a NumPy scalar, or the array it points to."""
    value = values[slot.argument]
    for i in slot.path:
        value = value[i]
    if isinstance(value, enum.Enum):
        value = value.value
    if slot.part == VALID:
        return np.uint8(value is not None)
    if slot.part == UNUSED or value is None:
        return slot.dtype.type(0)
    if slot.part == RECORD:
        inner = getattr(value, "__gpukit_array__", value)  # a record of the host's is copied, as numba copies it
        return ptx_frontend.Array(inner if isinstance(inner, np.ndarray) else np.array(inner))
    if slot.part in (VALUE, REAL, IMAG):
        if isinstance(value, np.datetime64 | np.timedelta64):
            value = value.view(np.int64)
        return slot.dtype.type(value if slot.part == VALUE else getattr(value, slot.part))
    array = as_numpy(value)
    assert array is not None
    if slot.part == DATA:
        outside = array is not value or not array.flags.forc  # a device array, or a broadcast one
        return ptx_frontend.Array(array, owner_of(array) if outside else None)
    if slot.part in (SHAPE, STRIDE):
        return np.int64((array.shape if slot.part == SHAPE else array.strides)[slot.axis])
    return np.int64(getattr(array, slot.part))


def _described(name: str, value: Any) -> dict:
    """An argument, for the report."""
    value = _plain(value)
    if isinstance(value, np.ndarray):
        return {"name": name, "kind": "array", "dtype": str(value.dtype), "shape": value.shape}
    if isinstance(value, tuple | enum.Enum) or value is None:
        kind = "tuple" if isinstance(value, tuple) else "none" if value is None else "enum"
        return {"name": name, "kind": kind, "dtype": "", "shape": ()}
    kind = "record" if isinstance(value, np.void) else "scalar"
    return {"name": name, "kind": kind, "dtype": str(np.asarray(value).dtype), "shape": ()}


# --- compiling -------------------------------------------------------------------------------------------------------


def _numba_cuda() -> Any:
    """numba-cuda with its compiler. Raises UnsupportedFeature where it is not installed."""
    if platform.system() == "Darwin":
        raise UnsupportedFeature(toolkit.ON_A_MAC)
    missing = f"numba-cuda's compiler is not installed: {toolkit.INSTALL}"
    if importlib.util.find_spec("numba_cuda") is None:  # numba may still bring a numba.cuda of its own
        raise UnsupportedFeature(missing)
    try:
        from numba import cuda

        cuda.compile_ptx  # noqa: B018  # the simulator has none
    except (ImportError, AttributeError):
        raise UnsupportedFeature(missing) from None
    return cuda


@contextlib.contextmanager
def _pretended_device() -> Iterator[None]:
    """numba-cuda compiles a device function for the GPU that is there, and the C++ that some functions need with the
    help of its driver: let there be one."""
    compiler: Any = importlib.import_module("numba.cuda.compiler")
    dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
    before = dispatcher.get_current_device, compiler.nvrtc
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=COMPUTE_CAPABILITY)
    compiler.nvrtc = SimpleNamespace(compile=_compile_library)
    try:
        yield
    finally:
        dispatcher.get_current_device, compiler.nvrtc = before


def _compile_library(source: str | bytes, name: str, *_: Any, **__: Any) -> tuple[str, str]:
    """(PTX, log) of C++ that a numba kernel calls (numba-cuda's half precision, or a file the user links)."""
    code = source.decode() if isinstance(source, bytes) else source
    made = compile_cuda(code, options=["--relocatable-device-code=true"], name=name)
    return made.text, made.log


def _compile(function: FunctionType, kinds: tuple[Any, ...], options: dict[str, Any]) -> NumbaPtx:
    types: Any = importlib.import_module("numba.cuda.types")
    compiler: Any = importlib.import_module("numba.cuda.compiler")
    code = function.__code__
    slots = tuple(slot for i, kind in enumerate(kinds) for slot in _slots(kind, i))
    signature = kinds
    if _takes_more(function):
        fixed = code.co_argcount
        signature = (*kinds[:fixed], types.StarArgTuple.from_types(kinds[fixed:]))
    given = {name: options[name] for name in ("fastmath", "opt", "debug", "launch_bounds") if name in options}
    try:
        with warnings.catch_warnings(), _pretended_device():
            warnings.simplefilter("ignore")
            codes, _ = compiler.compile_all(
                function, signature, lineinfo=not options.get("debug"), cc=COMPUTE_CAPABILITY, device=False,
                abi="numba", output="ptx", **given,
            )  # fmt: skip
            text, *libraries = [code for code in codes if isinstance(code, str)]
    except GpukitError:
        raise
    except Exception as error:  # numba raises a hundred kinds
        fail(error, function)
    entry = re.search(r"^\s*\.(?:visible|weak) \.entry ([\w$]+)\(([^)]*)\)", text, re.MULTILINE)
    if entry is None or entry[2].count(".param") != len(slots):
        raise InternalError(f"numba-cuda compiled `{function.__name__}` to parameters gpukit does not know")
    shown = function.__qualname__.rsplit(".", 1)[-1]
    names = tuple(_names(function, kinds))
    return NumbaPtx(
        text,
        tuple(libraries),
        entry[1],
        slots,
        names,
        function.__defaults__ or (),
        shown,
        code.co_filename,
        code.co_firstlineno,
    )


_PLACES = (
    re.compile(r" at (?P<file>[^\n]+?) \((?P<line>\d+)\)"),
    re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)'),
)
_NOISE = re.compile(r"Failed in \w+ mode pipeline|During: |\s*$|-{5,}")


def _place(error: Exception, text: str, function: FunctionType) -> tuple[str, int]:
    """(file, line) of what numba stumbled over: as its text says, or as it was looking at; else of the function."""
    file = function.__code__.co_filename
    base = os.path.basename(file)
    for pattern in _PLACES:
        places = [int(found["line"]) for found in pattern.finditer(text) if os.path.basename(found["file"]) == base]
        if places:
            return file, places[-1]
    line = function.__code__.co_firstlineno
    for frame, _ in traceback.walk_tb(error.__traceback__):
        at: Any = frame.f_locals.get("loc")
        if getattr(at, "filename", None) == file:
            line = at.line
    return file, line


def fail(error: Exception, function: FunctionType) -> NoReturn:
    """Raise what numba says, in a sentence with its place."""
    text = str(error)
    file, line = _place(error, text, function)
    lines = [part.strip() for part in text.splitlines() if not _NOISE.match(part)]
    said = lines[0] if lines else type(error).__name__
    if said.startswith("No implementation of function"):
        tried = next((part for part in lines if part.startswith(">>> ")), "")
        said = f"it has no version of {tried.removeprefix('>>> ')}" if tried else said
    known = any(name in str(type(error).__mro__) for name in ("TypingError", "NumbaTypeError"))
    kind = KernelTypeError if known else UnsupportedFeature
    raise kind(f"numba-cuda's compiler does not take `{function.__name__}`: {said}", file=file, line=line) from None


def _sources(compiled: NumbaPtx) -> dict[str, str]:
    """Path -> text of the user's files that the PTX names: those Python has lines of, but numba's own."""
    found = {}
    for path in re.findall(r'^\s*\.file\s+\d+\s+"([^"]*)"', compiled.text, re.MULTILINE):
        path = path.replace("\\\\", "\\")
        # A notebook's cell has a name that is no path; the PTX puts the working folder in front of it.
        known = compiled.file if path.endswith(compiled.file) else path
        lines = linecache.getlines(known)
        if lines and not _NUMBAS.search(known):
            found[path if known == path else known] = "".join(lines)
    return found


_NUMBAS = re.compile(r"[\\/]numba(?:_cuda)?[\\/]")
