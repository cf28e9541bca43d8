"""What a name can stand for inside a kernel, while it is being compiled.

Every value is made of `Scalar` leaves (a register or a constant each) in a fixed form: an array is a base address, a
shape and strides; a tuple is its items. The form is known at compile time, the leaves may change at run time, so
values of one form can meet at a join (`join`), and be copied leaf by leaf.
"""

from __future__ import annotations

import enum
import types as python_types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from gpukit.machine.frontends.python import types
from gpukit.machine.frontends.python.source import Source
from gpukit.machine.frontends.python.symbols import Namespace
from gpukit.machine.program import GENERIC, Const, Operand

UNKNOWN = -1  # the operand of a scalar during inference, when there are no registers yet

INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)


class Value:
    """Base of all. `leaves` and `with_leaves` take a value apart and put it together again."""

    __slots__ = ()

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return ()

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        return self

    @property
    def form(self) -> tuple:
        """Everything but the leaves, hashable: equal forms have leaves of equal meaning."""
        return (type(self),)

    def describe(self) -> str:
        """The type as a user would call it."""
        return type(self).__name__


@dataclass(frozen=True, slots=True)
class Scalar(Value):
    dtype: np.dtype
    operand: Operand

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return (self,)

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        return next(iter(leaves))

    @property
    def constant(self) -> np.generic | None:
        return self.operand.value if isinstance(self.operand, Const) else None

    def describe(self) -> str:
        return str(self.dtype)


def constant(value: object, dtype: np.dtype | type) -> Scalar:
    """A scalar known at compile time."""
    dtype = np.dtype(dtype)
    return Scalar(dtype, Const(dtype.type(value)))


def integer(value: int) -> Scalar:
    return constant(value, INT64)


@dataclass(frozen=True, slots=True)
class NoneValue(Value):
    def describe(self) -> str:
        return "None"


@dataclass(frozen=True, slots=True)
class EllipsisValue(Value):
    def describe(self) -> str:
        return "..."


@dataclass(frozen=True, slots=True)
class StringValue(Value):
    text: str

    @property
    def form(self) -> tuple:
        return (StringValue, self.text)

    def describe(self) -> str:
        return "string"


@dataclass(frozen=True, slots=True)
class Symbol(Value):
    """A module, function or class the machine knows by its dotted name: "cuda", "cuda.atomic.add", "math.sqrt"."""

    name: str

    @property
    def form(self) -> tuple:
        return (Symbol, self.name)

    def describe(self) -> str:
        return f"`{self.name}`"


@dataclass(frozen=True, slots=True)
class DtypeValue(Value):
    dtype: np.dtype

    @property
    def form(self) -> tuple:
        return (DtypeValue, self.dtype)

    def describe(self) -> str:
        return f"dtype {self.dtype}"


@dataclass(frozen=True, slots=True)
class ExceptionValue(Value):
    kind: type[BaseException]

    @property
    def form(self) -> tuple:
        return (ExceptionValue, self.kind)

    def describe(self) -> str:
        return self.kind.__name__


MAX_PARTS = 1 << 16  # of a tuple, with those of the tuples in it


@dataclass(frozen=True, slots=True)
class Tuple(Value):
    """`names` are the fields of a named tuple; `kind` its class name."""

    items: tuple[Value, ...]
    names: tuple[str, ...] = ()
    kind: str = "tuple"

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return tuple(leaf for item in self.items for leaf in item.leaves)

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        return replace(self, items=_refill(self.items, leaves))

    @property
    def form(self) -> tuple:
        return (Tuple, self.names, tuple(item.form for item in self.items))

    def describe(self) -> str:
        return f"{self.kind}({', '.join(item.describe() for item in self.items)})"

    @property
    def is_too_large(self) -> bool:
        """Whether it has more than MAX_PARTS parts: a pair of pairs, 60 times over, is written in 60 lines."""
        waiting: list[Value] = [self]
        seen = 0
        while waiting:
            items = getattr(waiting.pop(), "items", ())
            seen += len(items)
            if seen > MAX_PARTS:
                return True
            waiting += [item for item in items if isinstance(item, Tuple)]
        return False


@dataclass(frozen=True, slots=True)
class Vector(Value):
    """CUDA's short vectors (float4 and the like): 1 to 4 scalars of one dtype, `.x .y .z .w`."""

    dtype: np.dtype
    items: tuple[Scalar, ...]

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return self.items

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        return Vector(self.dtype, tuple(leaves))

    @property
    def form(self) -> tuple:
        return (Vector, self.dtype, len(self.items))

    def describe(self) -> str:
        return f"{self.dtype}x{len(self.items)}"


@dataclass(frozen=True, slots=True)
class EnumMember(Value):
    """A member of an Enum; compares by identity of class and value."""

    kind: type
    value: Value
    is_int: bool

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return self.value.leaves

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        return replace(self, value=self.value.with_leaves(leaves))

    @property
    def form(self) -> tuple:
        return (EnumMember, self.kind, self.value.form)

    def describe(self) -> str:
        return self.kind.__name__


@dataclass(frozen=True, slots=True)
class EnumClass(Value):
    kind: type[enum.Enum]

    @property
    def form(self) -> tuple:
        return (EnumClass, self.kind)

    def describe(self) -> str:
        return f"enum {self.kind.__name__}"


@dataclass(frozen=True, slots=True)
class Module(Value):
    """A module of the user's own, whose functions and constants a kernel may use."""

    module: python_types.ModuleType | Namespace

    @property
    def form(self) -> tuple:
        return (Module, id(self.module))

    def lookup(self, name: str) -> object:
        """The object the module calls `name`; KeyError if nothing."""
        return self.module.lookup(name) if isinstance(self.module, Namespace) else vars(self.module)[name]

    def describe(self) -> str:
        return f"module `{self.module.__name__}`"


@dataclass(frozen=True, slots=True)
class NamedTupleClass(Value):
    kind: type

    @property
    def form(self) -> tuple:
        return (NamedTupleClass, self.kind)

    def describe(self) -> str:
        return f"class `{self.kind.__name__}`"


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension an address still depends on: its index, extent (elements) and stride (bytes)."""

    index: Scalar
    extent: Scalar
    stride: Scalar


@dataclass(frozen=True, slots=True)
class Array(Value):
    """A strided view of memory.

    `prefix` are the axes that were indexed already (`row = a[i]` keeps i, so that an access through `row` is checked
    against every axis of `a`). `offset` in bytes is a record's field. `root` numbers the memory it lies in
    (Program.roots), None when several may be meant. `layout` is "C", "F" or "A" (neither is known).
    """

    dtype: np.dtype
    base: Scalar
    shape: tuple[Scalar, ...]
    strides: tuple[Scalar, ...]
    space: str
    root: int | None
    name: str
    layout: str = "C"
    readonly: bool = False
    prefix: tuple[Axis, ...] = ()
    offset: int = 0
    vector: int = 0  # elements are short vectors of this many items of `dtype` (0: plain elements)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize * max(1, self.vector)

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        prefix = tuple(leaf for axis in self.prefix for leaf in (axis.index, axis.extent, axis.stride))
        return (self.base, *self.shape, *self.strides, *prefix)

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        stream = iter(leaves)
        base = next(stream)
        shape = tuple(next(stream) for _ in self.shape)
        strides = tuple(next(stream) for _ in self.strides)
        prefix = tuple(Axis(next(stream), next(stream), next(stream)) for _ in self.prefix)
        return replace(self, base=base, shape=shape, strides=strides, prefix=prefix)

    @property
    def form(self) -> tuple:
        shape = (self.dtype, self.ndim, self.vector)
        return (
            *(Array, shape, self.space, self.root, self.name, self.layout),
            *(self.readonly, len(self.prefix), self.offset),
        )

    def describe(self) -> str:
        return f"array({self.dtype}, {self.ndim}d)"


@dataclass(frozen=True, slots=True)
class Record(Value):
    """A reference to one structured element: `array` has no axes left."""

    array: Array

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return self.array.leaves

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        return Record(self.array.with_leaves(leaves))  # type: ignore[arg-type]

    @property
    def form(self) -> tuple:
        return (Record, self.array.form)

    def describe(self) -> str:
        return "record"


@dataclass(frozen=True, slots=True)
class ConstantArray(Value):
    """An array of the program's that a kernel names: one of the host is copied into it, a device array is shared."""

    data: np.ndarray
    name: str = ""
    shared: bool = False

    @property
    def form(self) -> tuple:
        return (ConstantArray, id(self.data))

    def describe(self) -> str:
        return f"array({self.data.dtype}, {self.data.ndim}d)"


@dataclass(frozen=True, slots=True)
class Range(Value):
    start: Scalar
    stop: Scalar
    step: Scalar

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return (self.start, self.stop, self.step)

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        return Range(*leaves)

    def describe(self) -> str:
        return f"range({self.start.dtype})"


@dataclass(frozen=True, slots=True)
class SliceValue(Value):
    start: Value
    stop: Value
    step: Value

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return (*self.start.leaves, *self.stop.leaves, *self.step.leaves)

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        return SliceValue(*_refill((self.start, self.stop, self.step), leaves))

    @property
    def form(self) -> tuple:
        return (SliceValue, self.start.form, self.stop.form, self.step.form)

    def describe(self) -> str:
        return "slice"


@dataclass(frozen=True, slots=True)
class Enumerate(Value):
    """`enumerate(iterable, start)`, `zip(...)` has kind "zip" and no start."""

    items: tuple[Value, ...]
    kind: str = "enumerate"

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return tuple(leaf for item in self.items for leaf in item.leaves)

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        return replace(self, items=_refill(self.items, leaves))

    @property
    def form(self) -> tuple:
        return (Enumerate, self.kind, tuple(item.form for item in self.items))

    def describe(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Method(Value):
    """`value.name`, about to be called."""

    owner: Value
    name: str

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return self.owner.leaves

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        return replace(self, owner=self.owner.with_leaves(leaves))

    @property
    def form(self) -> tuple:
        return (Method, self.name, self.owner.form)

    def describe(self) -> str:
        return f"method {self.name}"


@dataclass(frozen=True, slots=True)
class FunctionValue(Value):
    """A Python function to be compiled where it is called. `captured` are the local variables of the enclosing
    function that it uses, `defaults` its trailing default arguments."""

    source: Source
    names: tuple[str, ...] = ()
    captured: tuple[Value, ...] = ()
    defaults: tuple[Value, ...] = field(default=())

    @property
    def leaves(self) -> tuple[Scalar, ...]:
        return tuple(leaf for item in (*self.captured, *self.defaults) for leaf in item.leaves)

    def with_leaves(self, leaves: Iterable[Scalar]) -> Value:
        items = _refill((*self.captured, *self.defaults), leaves)
        return replace(self, captured=items[: len(self.captured)], defaults=items[len(self.captured) :])

    @property
    def form(self) -> tuple:
        items = tuple(item.form for item in (*self.captured, *self.defaults))
        return (FunctionValue, self.source.identity, items)

    def describe(self) -> str:
        return f"function `{self.source.name}`"


def _refill(items: tuple[Value, ...], leaves: Iterable[Scalar]) -> tuple:
    stream = iter(leaves)
    return tuple(item.with_leaves([next(stream) for _ in item.leaves]) for item in items)


def anonymous(value: Value) -> Value:
    """The value as inference sees it: registers forgotten, constants kept."""
    leaves = value.leaves
    if not leaves:
        return value
    return value.with_leaves(
        [leaf if isinstance(leaf.operand, Const) else Scalar(leaf.dtype, UNKNOWN) for leaf in leaves]
    )


def without_constants(value: Value) -> Value:
    """The value with every leaf unknown."""
    return value.with_leaves([Scalar(leaf.dtype, UNKNOWN) for leaf in value.leaves]) if value.leaves else value


def type_key(value: Value) -> tuple:
    """Equal for values that compile to the same code: form, dtypes and known constants."""
    return (value.form, tuple((leaf.dtype, _bits(leaf.operand)) for leaf in value.leaves))


def _bits(operand: Operand) -> object:
    # Bytes, because NaN is not equal to itself and 0.0 is equal to -0.0.
    return operand.value.tobytes() if isinstance(operand, Const) else None


def same_type(a: Value | None, b: Value | None) -> bool:
    if a is b:
        return True
    return a is not None and b is not None and type_key(a) == type_key(b)


def join(a: Value, b: Value, collapse: Callable[[Array], Array]) -> Value | None:
    """The type of a variable that is `a` on one path and `b` on another; None when there is none.

    `collapse` turns an array with a prefix into one without (the prefix added to its base).
    """
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return _join_scalars(a, b)
    if isinstance(a, Array) and isinstance(b, Array):
        return _join_arrays(a, b, collapse)
    if isinstance(a, Record) and isinstance(b, Record):
        array = _join_arrays(a.array, b.array, collapse)
        return None if array is None else Record(array)
    if isinstance(a, Tuple | Enumerate) and type(a) is type(b) and len(a.items) == len(b.items):
        items = [join(x, y, collapse) for x, y in zip(a.items, b.items, strict=True)]
        met = tuple(item for item in items if item is not None)
        return replace(a, items=met) if len(met) == len(items) else None
    if a.form != b.form:
        return None
    leaves = [_join_scalars(x, y) for x, y in zip(a.leaves, b.leaves, strict=True)]
    return None if None in leaves else a.with_leaves(leaves)  # type: ignore[arg-type]


def _join_scalars(a: Scalar, b: Scalar) -> Scalar | None:
    if a.dtype == b.dtype:
        if _bits(a.operand) == _bits(b.operand):
            return a
        return Scalar(a.dtype, UNKNOWN)
    dtype = types.unify(a.dtype, b.dtype)
    return None if dtype is None else Scalar(dtype, UNKNOWN)


def _join_arrays(a: Array, b: Array, collapse: Callable[[Array], Array]) -> Array | None:
    if a.dtype != b.dtype or a.ndim != b.ndim or a.vector != b.vector:
        return None
    if len(a.prefix) != len(b.prefix) or a.root != b.root or a.offset != b.offset:
        a, b = collapse(a), collapse(b)
    merged = replace(
        a,
        space=a.space if a.space == b.space else GENERIC,
        root=a.root if a.root == b.root else None,
        name=" or ".join(dict.fromkeys((*a.name.split(" or "), *b.name.split(" or ")))),
        layout=a.layout if a.layout == b.layout else "A",
        readonly=a.readonly or b.readonly,
    )
    leaves = [_join_scalars(x, y) for x, y in zip(a.leaves, b.leaves, strict=True)]
    return None if None in leaves else merged.with_leaves(leaves)  # type: ignore[arg-type,return-value]
