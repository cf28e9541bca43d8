"""`numba.cuda.types`: numba's names for types, as far as kernels, signatures and dtypes need them.

A type prints as numba prints it ("float32", "array(float32, 1d, C)"), is equal to every type of the same name,
indexes to an array type (`float32[:, ::1]`), and called with types gives a signature, with a value converts it.
`numpy_dtype` is its NumPy dtype, or None where it has none.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpukit.cuda.errors import KernelTypeError
from gpukit.cuda.stubs import VectorType


class Type:
    """Base of all types. `name` is how it prints."""

    numpy_dtype: Any = None  # a np.dtype where it has one

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __getitem__(self, index: Any) -> Array:
        parts = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(part, slice) and part.start is None and part.stop is None for part in parts):
            raise KeyError(f"an array type is written {self}[:] or {self}[:, ::1], not {self}[{index!r}]")
        if parts[-1].step == 1:
            layout = "C"
        elif parts[0].step == 1:
            layout = "F"
        else:
            layout = "A"
        return Array(self, len(parts), layout)

    def __call__(self, *args: Any) -> Any:
        if len(args) == 1 and not isinstance(args[0], Type):
            return self.convert(args[0])
        return Signature(self, args)

    def convert(self, value: Any) -> Any:
        """`value` as this type (what `float32(x)` means on the host)."""
        if self.numpy_dtype is None:
            raise KernelTypeError(f"a value cannot be converted to the type {self}")
        return self.numpy_dtype.type(value)


class Number(Type):
    def __init__(self, name: str, dtype: str):
        super().__init__(name)
        self.__gpukit_name__ = f"numba.{name}"  # how the front end knows it
        self.numpy_dtype = np.dtype(dtype)
        self.bitwidth = self.numpy_dtype.itemsize * 8

    def convert(self, value: Any) -> Any:
        # A C cast: wraps and truncates, where a NumPy scalar type would refuse.
        with np.errstate(all="ignore"):
            if isinstance(value, int) and self.numpy_dtype.kind in "iu":
                return np.array(value & ((1 << self.bitwidth) - 1), f"u{self.numpy_dtype.itemsize}").astype(
                    self.numpy_dtype
                )[()]
            return np.asarray(value).astype(self.numpy_dtype)[()]


class Integer(Number):
    @property
    def signed(self) -> bool:
        return self.numpy_dtype.kind == "i"


class Float(Number):
    pass


class Complex(Number):
    @property
    def underlying_float(self) -> Float:
        """The type of the real and the imaginary part."""
        return Float(f"float{self.bitwidth // 2}", f"float{self.bitwidth // 2}")


class Boolean(Number):
    def convert(self, value: Any) -> bool:
        return bool(value)


class NPDatetime(Type):
    def __init__(self, unit: str = ""):
        super().__init__(f"datetime64[{unit}]" if unit else "datetime64")
        self.unit = unit
        self.numpy_dtype = np.dtype(self.name)


class NPTimedelta(Type):
    def __init__(self, unit: str = ""):
        super().__init__(f"timedelta64[{unit}]" if unit else "timedelta64")
        self.unit = unit
        self.numpy_dtype = np.dtype(self.name)


class CharSeq(Type):
    def __init__(self, count: int):
        super().__init__(f"[char x {count}]")
        self.count = count
        self.numpy_dtype = np.dtype(f"S{count}")


class UnicodeCharSeq(Type):
    def __init__(self, count: int):
        super().__init__(f"[unichr x {count}]")
        self.count = count
        self.numpy_dtype = np.dtype(f"U{count}")


class Record(Type):
    """A structured dtype."""

    def __init__(self, dtype: np.dtype):
        members: Any = dtype.fields
        fields = ", ".join(f"{name}[{from_dtype(members[name][0])}]" for name in members)
        super().__init__(f"Record({fields}; {dtype.itemsize}; {dtype.isalignedstruct})")
        self.numpy_dtype = np.dtype((np.void, dtype))  # drops np.record

    @property
    def dtype(self) -> np.dtype:
        return self.numpy_dtype

    def typeof(self, field: str) -> Type:
        return from_dtype(self.numpy_dtype.fields[field][0])

    def offset(self, field: str) -> int:
        return self.numpy_dtype.fields[field][1]


class NestedArray(Type):
    """An array inside a record."""

    def __init__(self, dtype: Type, shape: tuple[int, ...]):
        super().__init__(f"nestedarray({dtype}, {shape})")
        self.dtype = dtype
        self.shape = tuple(shape)
        self.numpy_dtype = np.dtype((dtype.numpy_dtype, self.shape))


class Array(Type):
    """An array: element type, number of axes, layout "C", "F" or "A" (any), and whether it is read-only."""

    def __init__(self, dtype: Type, ndim: int, layout: str, readonly: bool = False, aligned: bool = True):
        kind = "readonly array" if readonly else "array"
        super().__init__(f"{kind}({dtype}, {ndim}d, {layout})")
        self.dtype = dtype
        self.ndim = ndim
        self.layout = layout
        self.mutable = not readonly
        self.aligned = aligned

    def copy(self, dtype: Type | None = None, ndim: int | None = None, layout: str | None = None) -> Array:
        return Array(dtype or self.dtype, self.ndim if ndim is None else ndim, layout or self.layout, not self.mutable)


class BaseTuple(Type):
    def __init__(self, name: str, types: tuple[Type, ...]):
        super().__init__(name)
        self.types = tuple(types)

    def __len__(self) -> int:
        return len(self.types)

    def __iter__(self) -> Iterator[Type]:
        return iter(self.types)


class Tuple(BaseTuple):
    def __init__(self, types: tuple[Type, ...]):
        super().__init__(f"Tuple({', '.join(map(str, types))})", types)


class UniTuple(BaseTuple):
    def __init__(self, dtype: Type, count: int):
        super().__init__(f"UniTuple({dtype} x {count})", (dtype,) * count)
        self.dtype = dtype
        self.count = count


class NamedTuple(BaseTuple):
    def __init__(self, types: tuple[Type, ...], cls: type):
        super().__init__(f"{cls.__name__}({', '.join(map(str, types))})", types)
        self.instance_class = cls


class CPointer(Type):
    """A raw pointer; only foreign functions take one, so kernels here refuse it."""

    def __init__(self, dtype: Type):
        super().__init__(f"{dtype}*")
        self.dtype = dtype


class EnumMember(Type):
    def __init__(self, cls: type[enum.Enum], dtype: Type):
        super().__init__(f"Enum<{dtype}>({cls.__name__})")
        self.instance_class = cls
        self.dtype = dtype


class IntEnumMember(EnumMember):
    pass


class Opaque(Type):
    """A host object that a kernel cannot look into."""


class Signature:
    """The types a kernel or device function is declared with. `return_type` is None where none was given."""

    def __init__(self, return_type: Type | None, args: tuple[Type, ...]):
        self.return_type = return_type
        self.args = tuple(args)
        for arg in self.args:
            if not isinstance(arg, Type):
                raise KernelTypeError(f"a signature lists types, but {arg!r} is a {type(arg).__name__}")

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self.args))}) -> {self.return_type}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and (self.args, self.return_type) == (other.args, other.return_type)

    def __hash__(self) -> int:
        return hash((self.args, self.return_type))


def signature(return_type: Type, *args: Type) -> Signature:
    """`return_type(*args)`, as numba.cuda.typing.signature spells it."""
    return Signature(return_type, args)


void = none = Type("none")
boolean = bool_ = b1 = Boolean("bool", "bool")
int8 = i1 = char = Integer("int8", "int8")
int16 = i2 = short = Integer("int16", "int16")
int32 = i4 = intc = int_c = Integer("int32", "int32")
int64 = i8 = intp = long_ = longlong = ssize_t = Integer("int64", "int64")
uint8 = u1 = uchar = byte = Integer("uint8", "uint8")
uint16 = u2 = ushort = Integer("uint16", "uint16")
uint32 = u4 = uintc = Integer("uint32", "uint32")
uint64 = u8 = uintp = ulong = ulonglong = size_t = Integer("uint64", "uint64")
int_, uint = int64, uint64
float16 = f2 = Float("float16", "float16")
float32 = f4 = float_ = Float("float32", "float32")
float64 = f8 = double = Float("float64", "float64")
complex64 = c8 = Complex("complex64", "complex64")
complex128 = c16 = Complex("complex128", "complex128")
unicode_type = Opaque("unicode_type")
pyobject = Opaque("pyobject")

SCALARS: dict[str, Number] = {value.name: value for value in list(globals().values()) if isinstance(value, Number)}

signed_domain = frozenset((int8, int16, int32, int64))
unsigned_domain = frozenset((uint8, uint16, uint32, uint64))
integer_domain = signed_domain | unsigned_domain
real_domain = frozenset((float32, float64))
complex_domain = frozenset((complex64, complex128))
number_domain = integer_domain | real_domain | complex_domain

# Every name that `from numba.cuda import *` offers for a scalar type.
SCALAR_NAMES = {name: value for name, value in list(globals().items()) if isinstance(value, Number)}


def from_dtype(dtype: Any) -> Type:
    """The type of array elements of a NumPy dtype."""
    dtype = np.dtype(dtype)
    if dtype.subdtype is not None:
        element, shape = dtype.subdtype
        return NestedArray(from_dtype(element), shape)
    if dtype.names is not None:
        return Record(dtype)
    if dtype.name in SCALARS:
        return SCALARS[dtype.name]
    if dtype.kind in "mM":
        unit = np.datetime_data(dtype)[0]
        unit = "" if unit == "generic" else unit
        return NPDatetime(unit) if dtype.kind == "M" else NPTimedelta(unit)
    if dtype.kind == "S":
        return CharSeq(dtype.itemsize)
    if dtype.kind == "U":
        return UnicodeCharSeq(dtype.itemsize // 4)
    raise KernelTypeError(f"kernels have no type for the NumPy dtype {dtype}")


def as_dtype(type_: Any) -> np.dtype:
    """The NumPy dtype of a type."""
    dtype = getattr(type_, "numpy_dtype", None)
    if isinstance(type_, CPointer):
        raise KernelTypeError(f"a kernel cannot take the raw pointer {type_} here: declare and pass an array instead")
    if dtype is None:
        raise KernelTypeError(f"the type {type_} has no NumPy dtype")
    return dtype


def example(type_: Type) -> Any:
    """Some value of the type, for compiling a kernel before it has arguments. Arrays are empty and contiguous.

    Raises KernelTypeError for types that no argument can have.
    """
    if isinstance(type_, Array):
        return np.empty((0,) * type_.ndim, as_dtype(type_.dtype), order="F" if type_.layout == "F" else "C")
    if isinstance(type_, NamedTuple):
        return type_.instance_class(*(example(item) for item in type_))
    if isinstance(type_, BaseTuple):
        return tuple(example(item) for item in type_)
    if isinstance(type_, EnumMember):
        return next(iter(type_.instance_class))
    if type_ == none:
        return None
    return np.zeros((), as_dtype(type_))[()]


def array_layout(strides: tuple[int, ...], c_contiguous: bool, f_contiguous: bool, size: int) -> str:
    """ "C", "F" or "A"; broadcast axes (stride 0) make it "A"."""
    if size and 0 in strides:
        return "A"
    return "C" if c_contiguous else "F" if f_contiguous else "A"


def typeof(value: Any) -> Type:
    """The type a kernel sees for a host value: int is int64, float is float64."""
    if isinstance(value, Type):
        return value
    value = getattr(value, "__gpukit_array__", value)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.names is not None:
        return Record(value.dtype)
    if isinstance(value, np.ndarray):
        layout = array_layout(value.strides, value.flags.c_contiguous, value.flags.f_contiguous, value.size)
        return Array(from_dtype(value.dtype), value.ndim, layout, readonly=not value.flags.writeable)
    if isinstance(value, np.generic):
        return from_dtype(value.dtype)
    if isinstance(value, enum.Enum):
        member = IntEnumMember if isinstance(value, enum.IntEnum) else EnumMember
        return member(type(value), typeof(value.value))
    if isinstance(value, bool):
        return boolean
    if isinstance(value, int):
        return int64 if -(2**63) <= value < 2**63 else uint64
    if isinstance(value, float):
        return float64
    if isinstance(value, complex):
        return complex128
    if isinstance(value, str):
        return unicode_type
    if value is None:
        return none
    if isinstance(value, tuple):
        items = tuple(typeof(item) for item in value)
        if hasattr(value, "_fields"):
            return NamedTuple(items, type(value))
        return UniTuple(items[0], len(items)) if items and len(set(items)) == 1 else Tuple(items)
    if isinstance(value, VectorType):
        return Opaque(value.__name__)
    raise KernelTypeError(
        f"a {type(value).__name__} cannot be passed to a kernel; pass arrays, numbers and tuples of them"
    )
