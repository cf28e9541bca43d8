"""Where a kernel's source comes from, and what the names in it mean.

A `Source` is the syntax tree of one function with a way to look up its global names. `from_function` makes one of a
live Python function (file, notebook cell, REPL, closure); `loader` makes them of a file that is never executed.
"""

from __future__ import annotations

import ast
import enum
import inspect
import itertools
import linecache
import sys
import types as python_types
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gpukit.errors import KernelSyntaxError, KernelTypeError
from gpukit.machine.frontends.python import symbols, types
from gpukit.machine.frontends.python.symbols import Name, Unknown

_identities = itertools.count()
LIBRARY = f"{__package__}.library"


@dataclass(frozen=True, slots=True)
class Declared:
    """The signature of `@cuda.jit("float32(float32, int32)", device=True)`: None where a type is no scalar."""

    args: tuple[np.dtype | None, ...]
    returns: np.dtype | None


@dataclass(eq=False)
class Source:
    """One function. Line numbers in `tree` are those of `file`.

    `resolve(name)` gives what a global (or closure) name stands for: a constant, NumPy array or dtype, `Name`,
    another `Source`, a module, or `Unknown`; it raises KeyError for a name that is not defined at all.
    `defaults` are the values of the trailing default arguments. `debug` says whether assertions are active.
    `jitted` is set for a function of a file that `@cuda.jit` makes a kernel (not with `device=True`).
    """

    name: str
    file: str
    first_line: int
    tree: ast.FunctionDef
    resolve: Callable[[str], object]
    text: dict[int, str] = field(default_factory=dict, repr=False)
    defaults: tuple[object, ...] = ()
    keyword_defaults: dict[str, object] = field(default_factory=dict)
    debug: bool = True
    jitted: bool = False
    declared: Declared | None = None  # types of a device function with a signature
    hidden: bool = False  # a function of the library: its operations belong to the line that calls it
    identity: int = field(default_factory=lambda: next(_identities))


def of(kernel: object) -> Source:
    """The source of whatever may be launched or called: a function, a dispatcher around one, a loaded Source.

    Raises KernelTypeError if it is none of these, KernelSyntaxError if its source cannot be found.
    """
    if isinstance(kernel, Source):
        return kernel
    if isinstance(kernel, python_types.FunctionType):
        return from_function(kernel)
    lazy = _unwrap(kernel)
    if lazy is None:
        raise KernelTypeError(
            f"a kernel must be a Python function or a @cuda.jit function, not {type(kernel).__name__}"
        )
    return lazy.source()


def _unwrap(kernel: object) -> _Lazy | None:
    """The Python function of a dispatcher, with the options it was given; None for anything else."""
    inner = getattr(kernel, "dispatcher", kernel)  # numba's configured kernels keep theirs in an attribute
    function = getattr(inner, "py_func", None)
    if not isinstance(function, python_types.FunctionType):
        return None
    options = getattr(inner, "targetoptions", None)
    debug = bool(options.get("debug", False)) if isinstance(options, dict) else False
    signatures = getattr(inner, "declared", None)
    declared = None
    if isinstance(signatures, list) and len(signatures) == 1:
        args = tuple(_numba_dtype(kind) for kind in signatures[0].args)
        declared = Declared(args, _numba_dtype(signatures[0].return_type))
    return _Lazy(function, debug, declared)


_sources: weakref.WeakKeyDictionary[python_types.FunctionType, dict[tuple, Source]] = weakref.WeakKeyDictionary()


def from_function(function: Callable, debug: bool = True, declared: Declared | None = None) -> Source:
    """The source of a live function. Its globals are read when the kernel is first compiled, then frozen."""
    assert isinstance(function, python_types.FunctionType)
    known = _sources.setdefault(function, {})
    key = (debug, declared)
    if key not in known:
        known[key] = _read(function, debug, declared)
    return known[key]


def _read(function: python_types.FunctionType, debug: bool, declared: Declared | None) -> Source:
    code = function.__code__
    file = code.co_filename
    lines = _lines(function)
    node = None
    if lines:
        node = _find(code, _parse(file, "".join(lines)))
    if node is None:
        lines, node = _from_history(code)
    if node is None:
        raise KernelSyntaxError(
            f"the source of `{function.__name__}` is not to be found (or changed since it was loaded): "
            "put the kernel in a .py file or a notebook cell",
            file=None if file.startswith("<") else file,
        )
    tree = node if isinstance(node, ast.FunctionDef) else _named_lambda(node)
    last = tree.end_lineno or tree.lineno
    text = {n: lines[n - 1].rstrip("\n") for n in range(tree.lineno, min(last, len(lines)) + 1)}
    return Source(
        name=function.__name__,
        file=file,
        first_line=tree.lineno,
        tree=tree,
        resolve=_environment(function),
        text=text,
        defaults=tuple(meaning(value) for value in function.__defaults__ or ()),
        keyword_defaults={name: meaning(value) for name, value in (function.__kwdefaults__ or {}).items()},
        debug=debug,
        declared=declared,
        hidden=function.__module__ == LIBRARY,
    )


def _lines(function: python_types.FunctionType) -> list[str]:
    file = function.__code__.co_filename
    if not file.startswith("<"):
        linecache.checkcache(file)
    return linecache.getlines(file, function.__globals__)


_parsed: dict[str, tuple[str, ast.Module]] = {}


def _parse(file: str, text: str) -> ast.Module:
    known = _parsed.get(file)
    if known is None or known[0] != text:
        try:
            known = _parsed[file] = (text, ast.parse(text))
        except (SyntaxError, ValueError):  # a notebook cell with magics, a file that changed: try the block alone
            return ast.Module([], [])
    return known[1]


def _first_line(node: ast.FunctionDef | ast.Lambda) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _find(code: python_types.CodeType, tree: ast.Module) -> ast.FunctionDef | ast.Lambda | None:
    """The definition a code object was compiled from."""
    wanted = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    candidates = [
        node
        for node in ast.walk(tree)
        if isinstance(node, wanted)
        and _first_line(node) == code.co_firstlineno
        and getattr(node, "name", "<lambda>") == code.co_name
        and _parameters(node) == code.co_varnames[: len(_parameters(node))]
    ]
    if len(candidates) > 1:  # several lambdas on one line
        candidates = [node for node in candidates if _covers(node, code)] or candidates
    return candidates[0] if candidates else None


def _parameters(node: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    arguments = node.args
    return tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def _covers(node: ast.AST, code: python_types.CodeType) -> bool:
    """Whether the code's instructions lie between the columns of the node."""
    start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    places = [(p[2], p[3]) for p in code.co_positions() if p[0] == node.lineno and p[2] is not None]  # type: ignore[attr-defined]
    return bool(places) and all(start <= low and high <= end for low, high in places if low != high)


def _named_lambda(node: ast.Lambda) -> ast.FunctionDef:
    body = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef("<lambda>", node.args, [body], [], None), node)


def _from_history(code: python_types.CodeType) -> tuple[list[str], ast.FunctionDef | None]:
    """A function typed at a REPL that keeps no source: its last definition in the readline history, if it compiles to
    the very same code."""
    readline = sys.modules.get("readline")
    if readline is None or code.co_filename != "<stdin>":
        return [], None
    count = readline.get_current_history_length()
    history = [readline.get_history_item(i + 1) or "" for i in range(count)]
    for start in range(len(history) - 1, -1, -1):
        if not history[start].lstrip().startswith(f"def {code.co_name}"):
            continue
        block = inspect.getblock([line + "\n" for line in history[start:]])
        try:
            tree = ast.parse("".join(block))
            compiled = compile(tree, code.co_filename, "exec")
        except SyntaxError:
            continue
        if any(isinstance(c, python_types.CodeType) and _same_code(c, code) for c in compiled.co_consts):
            node = tree.body[0]
            return (block, node) if isinstance(node, ast.FunctionDef) else ([], None)
    return [], None


def _same_code(a: python_types.CodeType, b: python_types.CodeType) -> bool:
    """Whether two code objects do the same, wherever they stand."""
    if (a.co_code, a.co_names, a.co_varnames) != (b.co_code, b.co_names, b.co_varnames):
        return False
    if len(a.co_consts) != len(b.co_consts):
        return False
    for x, y in zip(a.co_consts, b.co_consts, strict=True):
        if isinstance(x, python_types.CodeType) and isinstance(y, python_types.CodeType):
            if not _same_code(x, y):
                return False
        elif x != y or type(x) is not type(y):
            return False
    return True


def _environment(function: python_types.FunctionType) -> Callable[[str], object]:
    """Look-up of free names: closure cells first, then globals, then builtins; each name is read once."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
    names = function.__globals__
    builtins = names.get("__builtins__", {})
    if isinstance(builtins, python_types.ModuleType):
        builtins = vars(builtins)
    rebound = _cuda_names(function)
    frozen: dict[str, object] = {}

    def resolve(name: str) -> object:
        if name not in frozen:
            if name in cells:
                try:
                    value = cells[name].cell_contents
                except ValueError:
                    raise KeyError(name) from None
            elif name in names:
                value = names[name]
                if value is None and name in rebound:
                    frozen[name] = Name("cuda")
                    return frozen[name]
            else:
                value = builtins[name]
            frozen[name] = meaning(value)
        return frozen[name]

    return resolve


def _cuda_names(function: python_types.FunctionType) -> set[str]:
    """`cuda = None` at the top of a module and a function that rebinds it later: the name means the CUDA module."""
    return {"cuda"} if "cuda" in function.__code__.co_names else set()


@dataclass(frozen=True, slots=True, eq=False)
class DeviceArray:
    """The memory of a device array: a kernel that names one shares it, where it copies a host array."""

    memory: np.ndarray


_CONSTANTS = (
    *(bool, int, float, complex, str, bytes, enum.Enum, np.generic, np.dtype),
    *(Source, Name, Unknown, DeviceArray, symbols.Namespace),
)


def meaning(value: object) -> object:
    """What a live Python object stands for in a kernel. Looks at modules and constants, calls nothing."""
    if value is None or isinstance(value, _CONSTANTS):
        return value
    if isinstance(value, python_types.ModuleType):
        return symbols.of_module(value) or value
    if isinstance(value, tuple):
        kind: Callable[..., tuple] = type(value)
        items = [meaning(item) for item in value]
        return kind(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, type):
        if issubclass(value, enum.Enum | BaseException):
            return value
        if issubclass(value, np.generic):
            return np.dtype(value) if value not in (np.generic, np.number) else Unknown("an abstract NumPy type")
        if issubclass(value, tuple) and hasattr(value, "_fields"):
            return value
    name = symbols.of_object(value)
    if name is not None:
        return name
    if isinstance(value, python_types.FunctionType):
        return _Lazy(value)
    lazy = _unwrap(value)
    if lazy is not None:
        return lazy
    array = getattr(value, "__gpukit_array__", None) if symbols.belongs(type(value).__module__ or "") else None
    if isinstance(array, np.ndarray):
        return DeviceArray(array)
    dtype = _numba_dtype(value)
    if dtype is not None:
        return dtype
    return Unknown(f"a {type(value).__name__} object")


@dataclass(frozen=True, slots=True)
class _Lazy:
    """A function whose source is read only if a kernel uses it."""

    function: python_types.FunctionType
    debug: bool = True
    declared: Declared | None = None

    def source(self) -> Source:
        return from_function(self.function, self.debug, self.declared)


def materialise(value: object) -> object:
    """`value`, with the source of a live function read."""
    return value.source() if isinstance(value, _Lazy) else value


def _numba_dtype(value: object) -> np.dtype | None:
    """The dtype of one of numba's type objects (`numba.float32`, a record type)."""
    if not symbols.belongs(type(value).__module__ or ""):
        return None
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype
    return types.from_name(str(value))
