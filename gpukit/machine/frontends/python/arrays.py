"""Arrays and records in a kernel: elements, views, fields, attributes and methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.python import library, types
from gpukit.machine.frontends.python.values import (
    INT64,
    Array,
    Axis,
    ConstantArray,
    DtypeValue,
    EllipsisValue,
    Enumerate,
    EnumMember,
    Method,
    NoneValue,
    Record,
    Scalar,
    SliceValue,
    StringValue,
    Symbol,
    Tuple,
    Value,
    Vector,
    constant,
    integer,
)
from gpukit.machine.program import GLOBAL, LOCAL, SHARED, Element, Root

if TYPE_CHECKING:
    from gpukit.machine.frontends.python.builder import Memory
    from gpukit.machine.frontends.python.operations import Evaluator


UNNAMED = (f"{SHARED} array", f"{LOCAL} array")  # what an array is called before it has a name


def scalar_constant(value: np.generic) -> Scalar:
    """A NumPy scalar of the host as a constant of its own dtype."""
    if value.dtype.kind in "mM":
        return constant(value.view(np.int64), INT64)
    return constant(value, value.dtype.newbyteorder("="))


def memory_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype a kernel sees: dates are int64."""
    return INT64 if dtype.kind in "mM" else dtype


def contiguous_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Strides in bytes of a C-ordered array."""
    strides = []
    for extent in reversed(shape):
        strides.append(itemsize)
        itemsize *= extent
    return tuple(reversed(strides))


def freeze(ev: Evaluator, value: ConstantArray) -> Array:
    """The array that a global or closure array becomes, of known shape: a read-only copy of one of the host, a device
    array itself."""
    memory = ev.out.memory
    if value.data.dtype.hasobject or value.data.dtype.kind in "SUO" or not value.data.dtype.isnative:
        ev.fail(f"the array `{value.name}` has dtype {value.data.dtype}, which a kernel cannot read")
    if id(value.data) not in memory.constants:
        bound = value.data
        if not value.shared:
            bound = np.array(value.data, order="K" if value.data.flags.forc else "C")
            bound.flags.writeable = False
        dtype = memory_dtype(bound.dtype)
        root = Root(value.name or "constant array", GLOBAL, dtype, dtype.itemsize, nbytes=bound.nbytes)
        memory.constants[id(value.data)] = (memory.add(root), bound, value.data)
    root_number, data, _ = memory.constants[id(value.data)]
    return Array(
        memory_dtype(data.dtype),
        ev.out.base_of(root_number),
        tuple(integer(n) for n in data.shape),
        tuple(integer(n) for n in data.strides),
        GLOBAL,
        root_number,
        value.name or "constant array",
        layout_of(data),
        readonly=not value.shared,
    )


def layout_of(data: np.ndarray) -> str:
    return "C" if data.flags.c_contiguous else "F" if data.flags.f_contiguous else "A"


# --- places ----------------------------------------------------------------------------------------------------------


def index_number(ev: Evaluator, value: Value) -> Scalar:
    """An index as int64."""
    number = value.value if isinstance(value, EnumMember) and value.is_int else value
    if isinstance(number, ConstantArray) and number.data.ndim == 0:
        number = ev.number(number, "an array index")
    if not isinstance(number, Scalar):
        ev.fail(f"an array index must be an integer, not {value.describe()}")
    if number.dtype.kind not in "iub":
        ev.fail(f"an array index must be an integer, not {number.dtype}: use `//` or int(...)")
    return ev.out.cast(number, INT64)


def indexed(array: Array, index: Sequence[Scalar]) -> Array:
    """The array with its first axes indexed; they stay checked at each access."""
    n = len(index)
    axes = tuple(
        Axis(i, extent, stride) for i, extent, stride in zip(index, array.shape[:n], array.strides[:n], strict=True)
    )
    layout = array.layout if array.layout == "C" or not n else "A"
    if len(array.shape) == n:
        layout = "C"
    return replace(array, shape=array.shape[n:], strides=array.strides[n:], prefix=array.prefix + axes, layout=layout)


def place(array: Array) -> Element:
    """Where the single element of an array without axes lies."""
    return Element(
        array.base.operand,
        tuple(axis.index.operand for axis in array.prefix),
        tuple(axis.extent.operand for axis in array.prefix),
        tuple(axis.stride.operand for axis in array.prefix),
        array.name,
        array.offset,
    )


def collapse(ev: Evaluator, array: Array) -> Array:
    """The same view with the indexed axes and the field's offset added to the base address."""
    base = array.base
    for axis in array.prefix:
        wrapped = ev.out.alu("np.where({0} < 0, {0} + {1}, {0})[()]", (axis.index, axis.extent), INT64)
        base = ev.out.alu("({0} + {1} * {2})", (base, wrapped, axis.stride), INT64)
    if array.offset:
        base = ev.out.alu("({0} + {1})", (base, integer(array.offset)), INT64)
    return replace(array, base=base, prefix=(), offset=0)


def christen(value: Value, name: str, memory: Memory) -> Value:
    """A shared or local array just made, under the name of the variable it is assigned to."""
    if not name or not isinstance(value, Array) or value.name not in UNNAMED or value.root is None:
        return value
    memory.roots[value.root].name = name
    return replace(value, name=name)


def conform(ev: Evaluator, value: Value, target: Value) -> tuple[Scalar, ...]:
    """The leaves of `value` as those of the wider type `target` (see `values.join`)."""
    if isinstance(value, Record) and isinstance(target, Record):
        return conform(ev, value.array, target.array)
    if isinstance(value, Array) and isinstance(target, Array):
        if (
            len(value.prefix) != len(target.prefix)
            or value.offset != target.offset
            or (target.root is None and value.root is not None and not target.prefix)
        ):
            value = collapse(ev, value)
        return value.leaves
    if isinstance(value, Tuple | Enumerate) and isinstance(target, Tuple | Enumerate):
        parts = zip(value.items, target.items, strict=True)
        return tuple(leaf for mine, wanted in parts for leaf in conform(ev, mine, wanted))
    return tuple(ev.out.cast(mine, wanted.dtype) for mine, wanted in zip(value.leaves, target.leaves, strict=True))


# --- elements --------------------------------------------------------------------------------------------------------


def element(ev: Evaluator, array: Array, index: Sequence[Scalar], volatile: bool = False) -> Value:
    """The element at a full index: loaded, or a reference if it is a record."""
    where = indexed(array, index)
    if array.dtype.fields is not None:
        return Record(where)
    _check_elements(ev, array)
    loaded = ev.out.load(place(where), where, array.dtype, max(1, array.vector), volatile)
    return Vector(array.dtype, tuple(loaded)) if array.vector else loaded[0]


def _check_elements(ev: Evaluator, array: Array) -> None:
    if array.dtype not in types.TYPES:
        ev.fail(f"`{array.name}` has dtype {array.dtype}, which a kernel cannot compute with")


def put_element(ev: Evaluator, array: Array, index: Sequence[Scalar], value: Value, volatile: bool = False) -> None:
    """Store at a full index, converted to the array's dtype."""
    check_writable(ev, array)
    where = indexed(array, index)
    if array.dtype.fields is not None:
        _copy_record(ev, Record(where), value)
        return
    if array.dtype.kind in "SU" and isinstance(value, StringValue):
        _put_text(ev, where, value.text)
        return
    _check_elements(ev, array)
    if array.vector:
        if not isinstance(value, Vector) or len(value.items) != array.vector:
            ev.fail(f"`{array.name}` holds vectors of {array.vector} {array.dtype}; {value.describe()} does not fit")
        source = [ev.out.cast(item, array.dtype) for item in value.items]
    else:
        source = [converted(ev, value, array, "stored in")]
    ev.out.store(place(where), where, array.dtype, source, volatile)


def _put_text(ev: Evaluator, where: Array, text: str) -> None:
    """A constant string, character by character, padded with zeros to the width of the dtype."""
    unit = np.dtype(np.uint8 if where.dtype.kind == "S" else np.uint32)
    width = where.dtype.itemsize // unit.itemsize
    if len(text) > width:
        ev.fail(f"the string {text!r} does not fit in `{where.name}`, which has room for {width} characters")
    for position in range(width):
        code = ord(text[position]) if position < len(text) else 0
        part = replace(where, dtype=unit, offset=where.offset + position * unit.itemsize)
        ev.out.store(place(part), part, unit, [constant(code, unit)])


def check_writable(ev: Evaluator, array: Array) -> None:
    if array.readonly:
        ev.fail(
            f"`{array.name}` is read-only: pass a writable array (array.copy(), or array.flags.writeable = True), "
            "or do not store to it"
        )


def converted(ev: Evaluator, value: Value, array: Array, verb: str) -> Scalar:
    """A number as the array's dtype; an integer that does not fit will be reported."""
    number = ev.number(value, f"`{array.name}[...] = ...`")
    if not types.can_cast(number.dtype, array.dtype):
        advice = ": store its .real and .imag" if number.dtype.kind == "c" else ""
        ev.fail(f"a {number.dtype} cannot be {verb} `{array.name}`, an array of {array.dtype}{advice}")
    return ev.out.cast(number, array.dtype, "narrow" if types.narrows(number.dtype, array.dtype) else None)


def _copy_record(ev: Evaluator, target: Record, value: Value) -> None:
    if not isinstance(value, Record) or value.array.dtype != target.array.dtype:
        ev.fail(f"only a record of the same dtype can be assigned to a record, not {value.describe()}")
    for name in target.array.dtype.names or ():
        source = field(ev, value, name)
        if isinstance(source, Array):
            fill(ev, field(ev, target, name), source)  # type: ignore[arg-type]
        else:
            set_field(ev, target, name, source)


# --- indexing --------------------------------------------------------------------------------------------------------


def _parts(index: Value) -> list[Value]:
    return list(index.items) if isinstance(index, Tuple) else [index]


def _all_numbers(parts: list[Value]) -> bool:
    return all(isinstance(part, Scalar | EnumMember | ConstantArray) for part in parts)


def get(ev: Evaluator, array: Array, index: Value, volatile: bool = False) -> Value:
    """`array[index]`: an element, or a view for fewer indices, slices, `...` or a field's name."""
    if isinstance(index, StringValue):
        return field(ev, array, index.text)
    parts = _parts(index)
    if len(parts) == array.ndim and _all_numbers(parts):
        return element(ev, array, [index_number(ev, part) for part in parts], volatile)
    return view(ev, array, parts)


def put(ev: Evaluator, array: Array, index: Value, value: Value) -> None:
    """`array[index] = value`; a view is filled element by element."""
    parts = [] if isinstance(index, StringValue) else _parts(index)
    if parts and len(parts) == array.ndim and _all_numbers(parts):
        put_element(ev, array, [index_number(ev, part) for part in parts], value)
        return
    if array.ndim == 0 and isinstance(index, Tuple) and not index.items:
        put_element(ev, array, (), value)
        return
    target = get(ev, array, index)
    if not isinstance(target, Array):
        ev.fail(f"`{array.name}` cannot be assigned with this index")
    if isinstance(value, ConstantArray):
        value = freeze(ev, value)
    fill(ev, target, value)


def fill(ev: Evaluator, target: Array, value: Value) -> None:
    """Store a number, or an array of the same number of axes, in every element of a view."""
    check_writable(ev, target)
    if isinstance(value, Array) and value.ndim != target.ndim:
        ev.fail(f"a {value.ndim}-dimensional array cannot be assigned to {target.ndim} dimensions")

    def axis(index: list[Scalar]) -> None:
        if len(index) == target.ndim:
            item = element(ev, value, index) if isinstance(value, Array) else value
            put_element(ev, target, index, item)
        else:
            ev.out.loop(target.shape[len(index)], lambda k: axis([*index, k]))

    axis([])


def view(ev: Evaluator, array: Array, parts: list[Value]) -> Array:
    """Basic indexing. Integer axes go to the prefix; slices clip as in Python."""
    given = sum(not isinstance(part, EllipsisValue | NoneValue) for part in parts)
    if given > array.ndim:
        ev.fail(f"`{array.name}` has {array.ndim} dimension{'s' * (array.ndim != 1)}, {given} indices were given")
    dots = [i for i, part in enumerate(parts) if isinstance(part, EllipsisValue)]
    if len(dots) > 1:
        ev.fail("an index can contain `...` once")
    at = dots[0] if dots else len(parts)
    everything = SliceValue(NoneValue(), NoneValue(), NoneValue())
    parts = [*parts[:at], *([everything] * (array.ndim - given)), *parts[at + 1 :]]
    base, shape, strides, prefix = array.base, [], [], list(array.prefix)
    layout = array.layout
    axis = 0
    for part in parts:
        if isinstance(part, NoneValue):
            shape.append(integer(1))
            strides.append(integer(0))
            layout = "A"
            continue
        extent, stride = array.shape[axis], array.strides[axis]
        if isinstance(part, SliceValue):
            start, length, step = clip(ev, part, extent)
            if start.constant is None or start.constant != 0:
                base = ev.out.alu("({0} + {1} * {2})", (base, start, stride), INT64)
            if step.constant is None or step.constant != 1:
                stride = ev.out.alu("({0} * {1})", (stride, step), INT64)
                layout = "A"
            elif length is not extent and shape:
                layout = "A"
            shape.append(length)
            strides.append(stride)
        else:
            prefix.append(Axis(index_number(ev, part), extent, stride))
            if shape or layout != "C":
                layout = "A"
        axis += 1
    return replace(array, base=base, shape=tuple(shape), strides=tuple(strides), prefix=tuple(prefix), layout=layout)


def clip(ev: Evaluator, part: SliceValue, extent: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """(first index, number of elements, step) of a slice of an axis, all int64."""

    def bound(value: Value) -> Scalar | None:
        return None if isinstance(value, NoneValue) else index_number(ev, value)

    start, stop, step = bound(part.start), bound(part.stop), bound(part.step) or integer(1)
    if step.constant is not None and step.constant == 0:
        ev.fail("the step of a slice must not be zero")
    if step.constant is None:
        ev.refuse("the step of a slice must be a constant: index the array instead")
    forward = int(step.constant) > 0
    if start is None and stop is None and step.constant == 1:
        return integer(0), extent, step
    low, high = ("0", "{1}") if forward else ("-1", "{1} - 1")
    clipped = f"np.clip(np.where({{0}} < 0, {{0}} + {{1}}, {{0}}), {low}, {high})[()]"

    def limit(value: Scalar | None, default: str) -> Scalar:
        if value is not None:
            return ev.out.alu(clipped, (value, extent), INT64)
        return ev.out.alu(default, (extent,), INT64)

    first = limit(start, "(0 * {0})" if forward else "({0} - 1)")
    last = limit(stop, "{0}" if forward else "(0 * {0} - 1)")
    rounding = "({1} - {0} + {2} - 1)" if forward else "({1} - {0} + {2} + 1)"
    count = "({1} - {0})" if step.constant == 1 else f"({rounding} // {{2}})"
    length = ev.out.alu(f"np.maximum({count}, 0)", (first, last, step), INT64)
    return first, length, step


# --- fields ----------------------------------------------------------------------------------------------------------


def field(ev: Evaluator, owner: Record | Array, name: str) -> Value:
    """`record.name` (loaded, or a nested record or array), or the array of one field of an array of records."""
    array = owner.array if isinstance(owner, Record) else owner
    fields = array.dtype.fields
    if fields is None or name not in fields:
        known = f" (its fields are {', '.join(array.dtype.names or ())})" if fields else ""
        ev.fail(f"`{array.name}` has no field `{name}`{known}")
    dtype, offset = fields[name][:2]
    inner, shape = dtype.subdtype if dtype.subdtype is not None else (dtype, ())
    inner = memory_dtype(inner)
    part = replace(
        array,
        dtype=inner,
        shape=array.shape + tuple(integer(n) for n in shape),
        strides=array.strides + tuple(integer(n) for n in contiguous_strides(shape, inner.itemsize)),
        offset=array.offset + offset,
        name=f"{array.name}.{name}",
        layout="C" if isinstance(owner, Record) else "A",
    )
    return element(ev, part, ()) if isinstance(owner, Record) and not shape else part


def set_field(ev: Evaluator, owner: Record, name: str, value: Value) -> Value:
    fields = owner.array.dtype.fields
    if fields is None or name not in fields:
        ev.fail(f"`{owner.array.name}` has no field `{name}` (its fields are {', '.join(fields or ())})")
    dtype, offset = fields[name][:2]
    if dtype.subdtype is not None:
        target = field(ev, owner, name)
        assert isinstance(target, Array)
        fill(ev, target, value)
        return NoneValue()
    part = replace(
        owner.array, dtype=memory_dtype(dtype), offset=owner.array.offset + offset, name=f"{owner.array.name}.{name}"
    )
    put_element(ev, part, (), value)
    return NoneValue()


# --- attributes and methods ------------------------------------------------------------------------------------------


def size(ev: Evaluator, array: Array) -> Scalar:
    result = integer(1)
    for position, extent in enumerate(array.shape):
        result = extent if position == 0 else ev.out.alu("({0} * {1})", (result, extent), INT64)
    return result


def attribute(ev: Evaluator, array: Array, name: str) -> Value:
    if name == "shape":
        return Tuple(array.shape)
    if name == "strides":
        return Tuple(array.strides)
    if name == "size":
        return size(ev, array)
    if name == "ndim":
        return integer(array.ndim)
    if name == "itemsize":
        return integer(array.itemsize)
    if name == "nbytes":
        return ev.out.alu("({0} * {1})", (size(ev, array), integer(array.itemsize)), INT64)
    if name == "dtype":
        return DtypeValue(array.dtype)
    if name == "T":
        return transposed(array)
    if name in ("real", "imag"):
        return _complex_part(ev, array, name)
    if name in METHODS or name in library.METHODS:
        return Method(array, name)
    if array.dtype.fields is not None:
        return field(ev, array, name)
    ev.fail(f"an array has no attribute `{name}` in a kernel")


def transposed(array: Array) -> Array:
    layout = {"C": "F", "F": "C"}.get(array.layout, "A") if array.ndim > 1 else array.layout
    return replace(array, shape=array.shape[::-1], strides=array.strides[::-1], layout=layout)


def _complex_part(ev: Evaluator, array: Array, name: str) -> Array:
    if array.dtype.kind != "c":
        if name == "real":
            return array
        ev.fail(f"`{array.name}` is not complex: it has no `.imag`")
    dtype = np.dtype(f"f{array.dtype.itemsize // 2}")
    offset = array.offset + (dtype.itemsize if name == "imag" else 0)
    return replace(array, dtype=dtype, offset=offset, layout="A")


def _ravel(ev: Evaluator, array: Array, args: list[Value]) -> Value:
    _need_contiguous(ev, array, "ravel")
    return replace(array, shape=(size(ev, array),), strides=(integer(array.itemsize),))


def _need_contiguous(ev: Evaluator, array: Array, method: str) -> None:
    if array.layout != "C":
        ev.refuse(f"`{method}` needs a C-contiguous array, which `{array.name}` is not known to be: index it instead")


def _reshape(ev: Evaluator, array: Array, args: list[Value]) -> Value:
    _need_contiguous(ev, array, "reshape")
    parts = list(args[0].items) if len(args) == 1 and isinstance(args[0], Tuple) else args
    extents = [index_number(ev, part) for part in parts]
    known = integer(1)  # the product of the dimensions that are given; -1 stands for what is left
    for extent in extents:
        known = ev.out.alu("({0} * np.maximum({1}, 1))", (known, extent), INT64)
    left = ev.out.alu("({0} // np.maximum({1}, 1))", (size(ev, array), known), INT64)
    extents = [ev.out.alu("np.where({0} < 0, {1}, {0})[()]", (extent, left), INT64) for extent in extents]
    strides = [integer(array.itemsize)]
    for extent in reversed(extents[1:]):
        strides.insert(0, ev.out.alu("({0} * {1})", (strides[0], extent), INT64))
    return replace(array, shape=tuple(extents), strides=tuple(strides[: len(extents)]))


def _view(ev: Evaluator, array: Array, args: list[Value]) -> Value:
    if len(args) != 1:
        ev.fail("`view` takes the new dtype")
    dtype = dtype_of(ev, args[0])
    old, new = array.itemsize, dtype.itemsize
    if old == new:
        return replace(array, dtype=dtype, vector=0)
    if array.layout != "C" or array.ndim == 0:
        ev.refuse("`view` with another item size needs a contiguous array")
    last = ev.out.alu("({0} * {1} // {2})", (array.shape[-1], integer(old), integer(new)), INT64)
    return replace(
        array, dtype=dtype, vector=0, shape=(*array.shape[:-1], last), strides=(*array.strides[:-1], integer(new))
    )


def _transpose(ev: Evaluator, array: Array, args: list[Value]) -> Value:
    if args:
        ev.refuse("`transpose` takes no axes in a kernel")
    return transposed(array)


def _fill(ev: Evaluator, array: Array, args: list[Value]) -> Value:
    if len(args) != 1:
        ev.fail("`fill` takes one number")
    fill(ev, array, args[0])
    return NoneValue()


def _item(ev: Evaluator, array: Array, args: list[Value]) -> Value:
    return get(ev, array, Tuple(tuple(args)))


METHODS: dict[str, Callable[[Evaluator, Array, list[Value]], Value]] = {
    "ravel": _ravel,
    "reshape": _reshape,
    "view": _view,
    "transpose": _transpose,
    "fill": _fill,
    "item": _item,
}


def call_method(ev: Evaluator, method: Method, args: list[Value], keywords: dict[str, Value]) -> Value:
    if keywords:
        ev.fail(f"`{method.name}` takes no keyword arguments in a kernel")
    if isinstance(method.owner, Array) and method.name in library.METHODS:
        if args:
            ev.refuse(f"`{method.name}` takes no axis in a kernel: it is over all elements")
        return ev.call_function(f"numpy.{method.name}", [method.owner], {})
    if isinstance(method.owner, Array):
        return METHODS[method.name](ev, method.owner, args)
    assert isinstance(method.owner, Scalar)
    if args:
        ev.fail(f"`{method.name}` takes no arguments")
    if method.name == "bit_count":
        return ev.call_function("cuda.popc", [method.owner], {})
    if method.name == "conjugate" and method.owner.dtype.kind == "c":
        return ev.out.alu("np.conjugate({0})", (method.owner,), method.owner.dtype, count=1)
    return method.owner


def dtype_of(ev: Evaluator, value: Value) -> np.dtype:
    """The dtype meant by `np.float32`, `numba.float32`, `"float32"`, `float`, `x.dtype` or a record dtype."""
    if isinstance(value, DtypeValue):
        return memory_dtype(value.dtype)
    if isinstance(value, StringValue):
        dtype = types.from_name(value.text)
        if dtype is not None:
            return dtype
    if isinstance(value, Symbol):
        name = value.name.rpartition(".")[2]
        dtype = types.from_name({"int": "int64", "float": "float64", "complex": "complex128"}.get(name, name))
        if dtype is not None:
            return dtype
    ev.fail(f"{value.describe()} is not a dtype a kernel can use: write for example np.float32")
