"""Constant folding: what an expression of a file that is never executed stands for.

Only what is listed here is computed, all of it bounded in size; anything else is `Unknown` and becomes an error, with
its line, only if a kernel uses it.
"""

from __future__ import annotations

import ast
import collections
import enum
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from gpukit.machine.frontends.python import symbols, types
from gpukit.machine.frontends.python.source import Source
from gpukit.machine.frontends.python.symbols import Name, Namespace, Unknown

MAX_ELEMENTS = 1 << 20  # of an array or tuple made while loading
MAX_BITS = 4096  # of an integer made while loading


class Scope(Protocol):
    """Names of the file (or of a function in it), and how to run its functions."""

    def lookup(self, name: str) -> object: ...

    def function(self, node: ast.FunctionDef | ast.Lambda) -> Source: ...

    def call(self, function: Source, args: list[object], keywords: dict[str, object]) -> object: ...


class NotConstant(Exception):
    """The expression is none that is computed; `what` says what it is."""

    def __init__(self, what: str):
        super().__init__(what)
        self.what = what


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_NUMBER = (bool, int, float, complex, np.generic)
_NAMED_NUMBERS = {
    **{f"{package}.{name}": getattr(math, name) for package in ("math", "numpy") for name in ("pi", "e", "inf", "nan")},
    "math.tau": math.tau,
    "numpy.newaxis": None,
}
_MATH = {
    f"math.{name}": getattr(math, name)
    for name in ("sqrt", "ceil", "floor", "log", "log2", "log10", "exp", "sin", "cos", "tan", "gcd", "isqrt",
                 "atan2", "hypot", "fabs", "trunc", "pow")
}  # fmt: skip
_BUILTINS: dict[str, Callable] = {
    f"builtins.{f.__name__}": f
    for f in (int, float, bool, complex, len, min, max, abs, round, divmod, sum, tuple, list, sorted)
}


def fold(node: ast.expr, scope: Scope) -> object:
    """The value of an expression: a constant, tuple, list, array, dtype, `Name`, `Source`; or `Unknown`."""
    try:
        return _Folder(scope).value(node)
    except NotConstant as reason:
        return Unknown(f"{reason.what} (line {node.lineno})")
    except (ArithmeticError, ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
        return Unknown(f"something that cannot be computed: {error} (line {node.lineno})")
    except (RecursionError, MemoryError):
        return Unknown(f"an expression that is too large (line {node.lineno})")


def as_dtype(value: object) -> np.dtype:
    """A dtype from the ways a file may write one."""
    if isinstance(value, np.dtype):
        return value
    name = value.dotted.rpartition(".")[2] if isinstance(value, Name) else value
    if isinstance(name, str):
        name = {"int": "int64", "float": "float64", "complex": "complex128"}.get(name, name)
        dtype = types.from_name(name)
        return dtype if dtype is not None else np.dtype(name)
    if isinstance(value, list):
        fields = [(entry[0], as_dtype(entry[1]), *entry[2:]) for entry in value]
        return np.dtype(fields)
    if isinstance(value, tuple) and len(value) == 2:
        return np.dtype((as_dtype(value[0]), value[1]))
    if isinstance(value, dict):
        parts: Any = dict(value)
        parts["formats"] = [as_dtype(entry) for entry in parts.get("formats", [])]
        return np.dtype(parts)
    raise NotConstant("no dtype")


class _Folder:
    def __init__(self, scope: Scope):
        self.scope = scope

    def value(self, node: ast.expr) -> object:
        found = self._value(node)
        if isinstance(found, Unknown):
            raise NotConstant(found.what)
        return found

    def number(self, node: ast.expr) -> Any:
        found = self.value(node)
        if isinstance(found, Name) and found.dotted in _NAMED_NUMBERS:
            return _NAMED_NUMBERS[found.dotted]
        return found

    def _value(self, node: ast.expr) -> object:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self.scope.lookup(node.id)
            case ast.Attribute():
                return self._attribute(self.value(node.value), node.attr)
            case ast.Tuple():
                return _of_bounded_size(tuple(self.number(item) for item in self._items(node.elts)))
            case ast.List():
                return _of_bounded_size([self.number(item) for item in self._items(node.elts)])
            case ast.Dict():
                return {self.number(k): self.number(v) for k, v in zip(node.keys, node.values, strict=True) if k}
            case ast.UnaryOp():
                return _UNARY[type(node.op)](self._plain(self.number(node.operand)))
            case ast.BinOp():
                return self._binary(node.op, self.number(node.left), self.number(node.right))
            case ast.BoolOp():
                return self._logical(node)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                return self.value(node.body if self._plain(self.number(node.test)) else node.orelse)
            case ast.Subscript():
                return self._item(self.number(node.value), node.slice)
            case ast.Call():
                return self._call(node)
            case ast.Lambda():
                return self.scope.function(node)
        raise NotConstant("the value of an expression that is not computed without running the file")

    @staticmethod
    def _items(nodes: list[ast.expr]) -> list[ast.expr]:
        if any(isinstance(node, ast.Starred) for node in nodes):
            raise NotConstant("a value made with `*`")
        return nodes

    @staticmethod
    def _plain(value: Any) -> Any:
        """Operands are numbers, strings, tuples and lists; nothing whose operators are somebody's code."""
        if value is None or isinstance(value, (*_NUMBER, str, tuple, list, enum.Enum, np.dtype)):
            return value
        if isinstance(value, np.ndarray):
            return value
        raise NotConstant("the value of an expression that is not computed without running the file")

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        a, b = self._plain(left), self._plain(right)
        if isinstance(op, ast.Pow | ast.LShift) and isinstance(a, int) and isinstance(b, int):
            growth = b if isinstance(op, ast.LShift) else max(1, a.bit_length()) * b
            if growth > MAX_BITS:
                raise NotConstant("a number too large to compute")
        if isinstance(op, ast.Mult):
            for sequence, times in ((a, b), (b, a)):
                if isinstance(sequence, str | tuple | list) and isinstance(times, int):
                    _bounded(len(sequence) * times)
        if isinstance(op, ast.Add) and isinstance(a, str | tuple | list) and isinstance(b, str | tuple | list):
            _bounded(len(a) + len(b))
        if isinstance(op, ast.Mod) and isinstance(a, str):
            raise NotConstant("a formatted string")
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            _bounded(math.prod(np.broadcast_shapes(np.shape(a), np.shape(b))))
        result = _of_bounded_size(_BINARY[type(op)](a, b))
        if isinstance(result, int) and result.bit_length() > MAX_BITS:
            raise NotConstant("a number too large to compute")
        return result

    def _logical(self, node: ast.BoolOp) -> object:
        result: object = None
        for part in node.values:
            result = self.number(part)
            if bool(self._plain(result)) != isinstance(node.op, ast.And):
                break
        return result

    def _compare(self, node: ast.Compare) -> object:
        left = self._plain(self.number(node.left))
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self._plain(self.number(comparator))
            if not _COMPARE[type(op)](left, right):
                return False
            left = right
        return True

    def _attribute(self, owner: object, name: str) -> object:
        if isinstance(owner, Name):
            return Name(symbols.canonical(f"{owner.dotted}.{name}"))
        if isinstance(owner, type) and issubclass(owner, enum.Enum):
            return owner.__members__[name]
        if isinstance(owner, enum.Enum) and name in ("value", "name"):
            return getattr(owner, name)
        if isinstance(owner, np.dtype) and name in ("itemsize", "names", "alignment", "type", "name"):
            return owner if name == "type" else getattr(owner, name)
        if isinstance(owner, np.ndarray | np.generic) and name in (
            *("shape", "size", "ndim", "dtype", "nbytes", "itemsize", "T", "real", "imag"),
        ):
            return getattr(owner, name)
        if isinstance(owner, tuple) and name in getattr(owner, "_fields", ()):
            return getattr(owner, name)
        if isinstance(owner, Namespace):
            return owner.lookup(name)
        raise NotConstant(f"an attribute `{name}` that is not looked up without running the file")

    def _item(self, owner: Any, index: ast.expr) -> object:
        if isinstance(owner, type) and issubclass(owner, enum.Enum):
            return owner.__members__[self.number(index)]
        if isinstance(index, ast.Slice):
            parts = [None if part is None else self.number(part) for part in (index.lower, index.upper, index.step)]
            return owner[slice(*parts)] if isinstance(owner, str | tuple | list | np.ndarray) else self._refuse()
        if isinstance(owner, str | tuple | list | dict | np.ndarray):
            return owner[self.number(index)]
        return self._refuse()

    @staticmethod
    def _refuse() -> object:
        raise NotConstant("an item that is not looked up without running the file")

    # --- calls -----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> object:
        function = self.value(node.func)
        if any(keyword.arg is None for keyword in node.keywords):
            raise NotConstant("the result of a call with `**`")
        if isinstance(function, Name) and function.dotted == "cuda.jit":
            return self._jit(node)
        if isinstance(function, Jit):
            return function.apply(self.value(node.args[0]))
        args = [self.number(argument) for argument in self._items(node.args)]
        keywords = {str(keyword.arg): self.number(keyword.value) for keyword in node.keywords}
        if isinstance(function, Source):
            return self.scope.call(function, args, keywords)
        if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
            return function(*args, **keywords)
        if isinstance(function, type) and issubclass(function, enum.Enum):
            return function(*args)
        if isinstance(function, Name):
            return self._named_call(function.dotted, args, keywords)
        raise NotConstant("the result of a call, which is not made without running the file")

    def _jit(self, node: ast.Call) -> object:
        on = {
            keyword.arg
            for keyword in node.keywords
            if isinstance(keyword.value, ast.Constant) and bool(keyword.value.value)
        }
        jit = Jit("debug" in on, kernel="device" not in on)
        if node.args:
            first = self._value(node.args[0])
            if isinstance(first, Source):
                return jit.apply(first)
        return jit

    def _named_call(self, name: str, args: list[Any], keywords: dict[str, Any]) -> object:
        package, _, last = name.rpartition(".")
        if name == "numpy.dtype":
            options = {key: value for key, value in keywords.items() if key == "align"}
            dtype = as_dtype(args[0])
            aligned = options.get("align") and dtype.fields is not None
            return np.dtype(dtype.descr, align=True) if aligned else dtype
        if name in ("numba.from_dtype", "numba.typeof", "numba.np.numpy_support.from_dtype"):
            return as_dtype(args[0])
        if package in ("numpy", "numba") and types.from_name(last) is not None and len(args) == 1:
            return as_dtype(Name(name)).type(self._plain(args[0]))
        if package == "numpy" and last in _ARRAYS:
            return _make_array(last, args, keywords)
        if name in _MATH or name in _BUILTINS:
            values = [self._plain(value) for value in args]
            if keywords:
                raise NotConstant("the result of a call with keywords")
            return (_MATH.get(name) or _BUILTINS[name])(*values)
        if name == "builtins.range":
            found = range(*args)
            _bounded(len(found))
            return tuple(found)
        if name in ("collections.namedtuple", "typing.NamedTuple"):
            fields = args[1].replace(",", " ").split() if isinstance(args[1], str) else args[1]
            return collections.namedtuple(args[0], [f if isinstance(f, str) else f[0] for f in fields])
        if name in ("enum.IntEnum", "enum.Enum"):
            return _ENUMS[name](args[0], args[1])
        shown = name.removeprefix("builtins.")
        raise NotConstant(f"the result of `{shown}(...)`, which is not called without running the file")


class Jit:
    """`cuda.jit(...)`, waiting for its function."""

    def __init__(self, debug: bool, kernel: bool = True):
        self.debug = debug
        self.kernel = kernel

    def apply(self, function: object) -> Source:
        if not isinstance(function, Source):
            raise NotConstant("the result of `cuda.jit` of something that is no function")
        function.debug, function.jitted = self.debug, self.kernel
        return function


_ENUMS: dict[str, Callable] = {
    "enum.Enum": enum.Enum,
    "enum.IntEnum": enum.IntEnum,
    "enum.IntFlag": enum.IntFlag,
    "enum.Flag": enum.Flag,
}
_ARRAYS = ("array", "asarray", "arange", "zeros", "ones", "full", "linspace", "eye")


def _bounded(count: object) -> None:
    if not isinstance(count, int | np.integer) or count > MAX_ELEMENTS:
        raise NotConstant("an array or tuple too large to be made without running the file")


def _of_bounded_size(value: Any) -> Any:
    """The value; NotConstant if it is a tuple or list of more than MAX_ELEMENTS parts, those of its parts included."""
    if isinstance(value, tuple | list):
        _count(value)
    return value


def _make_array(kind: str, args: list[Any], keywords: dict[str, Any]) -> np.ndarray:
    options = {"dtype": as_dtype(keywords["dtype"])} if "dtype" in keywords else {}
    args = list(args)
    position = {"array": 1, "asarray": 1, "zeros": 1, "ones": 1, "full": 2}.get(kind)
    if position is not None and len(args) > position:
        options["dtype"] = as_dtype(args.pop(position))
    if kind in ("zeros", "ones", "full"):
        shape = args[0] if isinstance(args[0], tuple | list) else (args[0],)
        _bounded(math.prod(shape))
    elif kind in ("array", "asarray"):
        _bounded(_count(args[0]))
    elif kind == "arange":
        _bounded(_arange_length(args))
    elif kind == "linspace":
        _bounded(args[2] if len(args) > 2 else keywords.get("num", 50))
    elif kind == "eye":
        _bounded(args[0] * args[0])
    made = getattr(np, kind)(*args, **options)
    if made.dtype.hasobject or made.dtype.kind in "SU":
        raise NotConstant("an array of objects")
    return made


def _count(value: object) -> int:
    """Elements of the array that nested lists and tuples make, counted until there are too many."""
    if isinstance(value, np.ndarray):
        return value.size
    if not isinstance(value, list | tuple):
        return 1
    total = len(value)
    for item in value:
        if isinstance(item, list | tuple | np.ndarray):
            total += _count(item)
        _bounded(total)
    return total


def _arange_length(args: list[Any]) -> int:
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    return max(0, math.ceil((stop - start) / step))


def make_enum(name: str, bases: list[object], members: Mapping[str, object]) -> type[enum.Enum] | None:
    """An enum class with constant members; None if it has no enum base."""
    for base in bases:
        if isinstance(base, Name) and base.dotted in _ENUMS:
            return _ENUMS[base.dotted](name, dict(members))
    return None
