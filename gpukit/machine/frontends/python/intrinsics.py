"""Intrinsics that name memory or the launch's geometry, and Python built-ins that are not functions of numbers."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.python import arrays, iteration
from gpukit.machine.frontends.python.registry import intrinsic
from gpukit.machine.frontends.python.values import (
    BOOL,
    INT64,
    Array,
    ConstantArray,
    DtypeValue,
    EnumClass,
    Enumerate,
    EnumMember,
    NamedTupleClass,
    NoneValue,
    Range,
    Record,
    Scalar,
    StringValue,
    Symbol,
    Tuple,
    Value,
    Vector,
    constant,
    integer,
)
from gpukit.machine.program import LOCAL, LOCAL_BASE, SHARED, SHARED_BASE, Root

if TYPE_CHECKING:
    from gpukit.machine.frontends.python.operations import Evaluator

EXCEPTIONS = {
    name: kind for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
}
_ALLOCATE = "a GPU thread cannot allocate an array: use `cuda.local.array`, `cuda.shared.array` or an array argument"
_GROW = "a GPU thread has no lists, sets or dicts: use a tuple, `cuda.local.array` or an array argument"
ADVICE = {
    **{
        f"numpy.{name}": _ALLOCATE
        for name in ("zeros", "empty", "ones", "full", "array", "arange", "linspace", "zeros_like", "empty_like",
                     "ones_like", "full_like", "asarray", "copy", "concatenate", "stack", "identity", "eye")
    },
    **{f"builtins.{name}": _GROW for name in ("list", "dict", "set", "frozenset", "bytearray", "sorted")},
    **{
        f"numpy.random.{name}": "NumPy's random numbers are for the host: in a kernel use `numba.cuda.random`"
        for name in ("rand", "randn", "random", "uniform", "normal", "randint", "choice")
    },
    "builtins.sum": "`sum` over an array is not available in a kernel: write the loop",
    "builtins.input": "a kernel cannot read input: pass the value as an argument",
    "builtins.open": "a kernel cannot open files: read the data on the host and pass an array",
    "cuda.synchronize": "`cuda.synchronize` is a host function: inside a kernel use `cuda.syncthreads`",
    "cuda.to_device": "`cuda.to_device` is a host function: copy the array before the launch",
    "cuda.device_array": _ALLOCATE,
}  # fmt: skip

MAX_STATIC_SHARED_BYTES = 48 * 1024  # per block, on every GPU: only dynamic shared memory can be more
MAX_LOCAL_BYTES = 512 * 1024  # per thread, CUDA's limit


# --- geometry --------------------------------------------------------------------------------------------------------


def _dimensions(ev: Evaluator, ndim: Value, name: str) -> int:
    if not isinstance(ndim, Scalar) or ndim.constant is None or ndim.constant not in (1, 2, 3):
        ev.fail(f"`cuda.{name}` takes a constant 1, 2 or 3")
    return int(ndim.constant)


def _per_axis(values: list[Scalar]) -> Value:
    return values[0] if len(values) == 1 else Tuple(tuple(values))


@intrinsic("cuda.grid")
def grid(ev: Evaluator, ndim: Value) -> Value:
    """The thread's position in the whole grid, int64 per axis."""
    out = []
    for axis in "xyz"[: _dimensions(ev, ndim, "grid")]:
        parts = [ev.out.special(f"{name}.{axis}", INT64) for name in ("ctaid", "ntid", "tid")]
        out.append(ev.out.alu("({0} * {1} + {2})", parts, INT64, count=1))
    return _per_axis(out)


@intrinsic("cuda.gridsize")
def gridsize(ev: Evaluator, ndim: Value) -> Value:
    """Threads in the whole grid, int64 per axis."""
    out = []
    for axis in "xyz"[: _dimensions(ev, ndim, "gridsize")]:
        parts = [ev.out.special(f"{name}.{axis}", INT64) for name in ("nctaid", "ntid")]
        out.append(ev.out.alu("({0} * {1})", parts, INT64, count=1))
    return _per_axis(out)


# --- arrays of the block and the thread ------------------------------------------------------------------------------


def _shape(ev: Evaluator, shape: Value, what: str) -> tuple[int, ...]:
    parts = shape.items if isinstance(shape, Tuple) else (shape,)
    extents = []
    for part in parts:
        number = part.value if isinstance(part, EnumMember) else part
        if not isinstance(number, Scalar) or number.constant is None or number.dtype.kind not in "iu":
            ev.fail(
                f"the shape of {what} must be known when the kernel is compiled: a literal, or a global or closure "
                "variable that is an integer"
            )
        extents.append(int(number.constant))
    if any(n < 0 for n in extents):
        ev.fail(f"the shape of {what} must not be negative")
    return tuple(extents)


def element_type(ev: Evaluator, value: Value) -> tuple[np.dtype, int]:
    """(dtype, items of a short vector or 0) of an array's elements."""
    if isinstance(value, Symbol):
        vector = vector_type(value.name)
        if vector is not None:
            return vector
    return arrays.dtype_of(ev, value), 0


def _alignment(ev: Evaluator, dtype: np.dtype, vector: int, alignment: Value | None) -> int:
    natural = dtype.itemsize * (vector if vector in (2, 4) else 1) if dtype.fields is None else dtype.alignment
    natural = max(8, natural) if dtype.fields is not None else natural
    if alignment is None or isinstance(alignment, NoneValue):
        return natural
    if not isinstance(alignment, Scalar) or alignment.constant is None or alignment.dtype.kind not in "iu":
        ev.fail("`alignment` must be a constant integer")
    asked = int(alignment.constant)
    if asked <= 0 or asked & (asked - 1) or asked % 8:
        ev.fail(f"`alignment` must be a power of two and a multiple of 8, not {asked}")
    return max(natural, asked)


def _declare(
    ev: Evaluator, space: str, shape: Value, dtype: Value, alignment: Value | None, site: tuple[int, int]
) -> Value:
    """A shared or local array. One place in one function (for one set of argument types) is one piece of memory."""
    what = f"a {space} array"
    extents = _shape(ev, shape, what)
    element, vector = element_type(ev, dtype)
    align = _alignment(ev, element, vector, alignment)
    itemsize = element.itemsize * max(1, vector)
    memory = ev.out.memory
    dynamic = space == SHARED and extents == (0,)
    nbytes = int(np.prod([int(n) for n in extents], dtype=object)) * itemsize
    if space != SHARED and nbytes > MAX_LOCAL_BYTES:
        ev.fail(f"{what} of {nbytes:,} bytes is larger than a thread can have ({MAX_LOCAL_BYTES:,} bytes)")
    key = (space, ev.scope, site, extents, element, vector)
    if key not in memory.by_place:
        used = memory.shared_bytes if space == SHARED else memory.local_bytes
        offset = 0 if dynamic else -(-used // align) * align
        if space == SHARED and offset + nbytes > MAX_STATIC_SHARED_BYTES:
            ev.fail(
                f"the shared arrays of the kernel have {offset + nbytes:,} bytes with this one, and a block can have "
                f"{MAX_STATIC_SHARED_BYTES:,}: use a smaller tile, or `cuda.shared.array(0, dtype)` and ask for its "
                "bytes at the launch"
            )
        name = f"{space} array"
        root = Root(name, space, element, element.itemsize, offset, nbytes, dynamic, written=False, read=False)
        memory.by_place[key] = memory.add(root)
        if not dynamic and space == SHARED:
            memory.shared_bytes = offset + nbytes
        elif not dynamic:
            memory.local_bytes = offset + nbytes
    number = memory.by_place[key]
    root = memory.roots[number]
    lengths: tuple[Scalar, ...]
    if dynamic:
        base, lengths = ev.out.base_of(number), (ev.out.extent_of(number),)
    else:
        start = SHARED_BASE if space == SHARED else LOCAL_BASE
        base, lengths = integer(start + root.offset), tuple(integer(n) for n in extents)
    strides = tuple(integer(n) for n in arrays.contiguous_strides(extents, itemsize))
    return Array(element, base, lengths, strides, space, number, root.name, vector=vector)


@intrinsic("cuda.shared.array", placed=True)
def shared_array(
    ev: Evaluator, shape: Value, dtype: Value, alignment: Value | None = None, *, site: tuple[int, int]
) -> Value:
    return _declare(ev, SHARED, shape, dtype, alignment, site)


@intrinsic("cuda.local.array", placed=True)
def local_array(
    ev: Evaluator, shape: Value, dtype: Value, alignment: Value | None = None, *, site: tuple[int, int]
) -> Value:
    if ev.recursive:
        ev.refuse("a function that calls itself cannot have local arrays: pass the array as an argument")
    return _declare(ev, LOCAL, shape, dtype, alignment, site)


@intrinsic("cuda.const.array_like")
def const_array_like(ev: Evaluator, array: Value) -> Value:
    if isinstance(array, ConstantArray):
        return arrays.freeze(ev, array)
    if isinstance(array, Array):
        return array
    ev.fail("`cuda.const.array_like` takes a NumPy array that is a global or closure variable")


# --- random numbers --------------------------------------------------------------------------------------------------


def _random(name: str) -> None:
    """A function of `functions.random` on the two words of states[index], which are loaded and stored around it."""
    full = f"cuda.random.{name}"

    def step(ev: Evaluator, states: Value, index: Value, extra: list[Value]) -> Value:
        record = ev.on_getitem(None, states, ev.out.cast(ev.number(index, f"`{name}`"), INT64))
        if not isinstance(record, Record) or record.array.dtype.names != ("s0", "s1"):
            ev.fail(f"`{name}` takes an array of states made by create_xoroshiro128p_states")
        words = extra or [arrays.field(ev, record, "s0"), arrays.field(ev, record, "s1")]
        result = ev.call_scalar(full, words, {})
        assert isinstance(result, Tuple)
        for field, word in zip(("s0", "s1"), result.items[-2:], strict=True):
            arrays.set_field(ev, record, field, word)
        return result.items[0] if len(result.items) == 3 else NoneValue()

    if name == "init_xoroshiro128p_state":

        @intrinsic(full)
        def seeded(ev: Evaluator, states: Value, index: Value, seed: Value) -> Value:
            return step(ev, states, index, [seed])
    else:

        @intrinsic(full)
        def plain(ev: Evaluator, states: Value, index: Value) -> Value:
            return step(ev, states, index, [])


for _name in (
    "init_xoroshiro128p_state",
    "xoroshiro128p_next",
    "xoroshiro128p_jump",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
):
    _random(_name)


# --- short vectors ---------------------------------------------------------------------------------------------------

_ALIASES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8",
    "ulong": "u8", "longlong": "i8", "ulonglong": "u8", "float": "f4", "double": "f8",
}  # fmt: skip
_VECTOR = re.compile(r"(?:cuda|numba)\.(u?int|float)(8|16|32|64)x([1-4])$")
_CUDA_VECTOR = re.compile(r"cuda\.([a-z]+)([1-4])$")


def vector_type(name: str) -> tuple[np.dtype, int] | None:
    """(dtype, items) of "cuda.float32x4" or "cuda.float4"; None for other names."""
    match = _VECTOR.match(name)
    if match:
        kind, bits, items = match.groups()
        return np.dtype(f"{kind}{bits}"), int(items)
    match = _CUDA_VECTOR.match(name)
    if match and match[1] in _ALIASES:
        return np.dtype(_ALIASES[match[1]]), int(match[2])
    return None


def make_vector(ev: Evaluator, dtype: np.dtype, items: int, args: list[Value]) -> Value:
    """A vector from numbers and shorter vectors, spliced in order."""
    parts: list[Scalar] = []
    for value in args:
        parts += value.items if isinstance(value, Vector) else [ev.number(value, "a vector")]
    if len(parts) != items:
        ev.fail(f"a vector of {items} takes {items} numbers (vectors count their items), {len(parts)} were given")
    return Vector(dtype, tuple(ev.out.cast(part, dtype) for part in parts))


# --- Python built-ins ------------------------------------------------------------------------------------------------


@intrinsic("builtins.range", "numba.prange")
def range_(ev: Evaluator, first: Value, second: Value | None = None, third: Value | None = None) -> Value:
    return iteration.make_range(ev, *(bound for bound in (first, second, third) if bound is not None))


@intrinsic("builtins.len")
def len_(ev: Evaluator, value: Value) -> Value:
    if isinstance(value, Tuple):
        return integer(len(value.items))
    if isinstance(value, Vector):
        return integer(len(value.items))
    if isinstance(value, StringValue):
        return integer(len(value.text))
    if isinstance(value, Range):
        code = "np.maximum(({1} - {0} + {2} - np.sign({2})) // {2}, 0)"
        return ev.out.alu(code, [ev.out.cast(leaf, INT64) for leaf in value.leaves], INT64)
    array = ev.as_array(value)
    if array is None or array.ndim == 0:
        ev.fail(f"{value.describe()} has no length")
    return array.shape[0]


@intrinsic("builtins.enumerate")
def enumerate_(ev: Evaluator, iterable: Value, start: Value | None = None) -> Value:
    first = integer(0) if start is None else ev.out.cast(ev.number(start, "`enumerate`"), INT64)
    return Enumerate((_frozen(ev, iterable), first))


@intrinsic("builtins.zip")
def zip_(ev: Evaluator, *iterables: Value) -> Value:
    if not iterables:
        ev.fail("`zip` needs something to loop over")
    return Enumerate(tuple(_frozen(ev, iterable) for iterable in iterables), "zip")


def _frozen(ev: Evaluator, iterable: Value) -> Value:
    return arrays.freeze(ev, iterable) if isinstance(iterable, ConstantArray) else iterable


@intrinsic("builtins.tuple")
def tuple_(ev: Evaluator, items: Value) -> Value:
    if not isinstance(items, Tuple):
        ev.fail(f"a tuple cannot be made of {items.describe()} in a kernel: its length would be unknown")
    return items


@intrinsic("numba.literal_unroll", "cuda.literal_unroll")
def literal_unroll(ev: Evaluator, items: Value) -> Value:
    return items  # loops over tuples are unrolled anyway


@intrinsic("builtins.slice")
def slice_(ev: Evaluator, first: Value, second: Value | None = None, third: Value | None = None) -> Value:
    nothing = NoneValue()
    bounds = (nothing, first, nothing) if second is None else (first, second, third or nothing)
    return ev.on_slice(None, *bounds)


_KINDS = {"builtins.int": "iu", "builtins.float": "f", "builtins.complex": "c", "builtins.bool": "b"}


@intrinsic("builtins.isinstance")
def isinstance_(ev: Evaluator, value: Value, kinds: Value) -> Value:
    """Known when the kernel is compiled."""
    wanted = kinds.items if isinstance(kinds, Tuple) else (kinds,)
    return constant(any(_is_a(ev, value, kind) for kind in wanted), BOOL)


def _is_a(ev: Evaluator, value: Value, kind: Value) -> bool:
    if isinstance(kind, NamedTupleClass):
        return isinstance(value, Tuple) and value.kind == kind.kind.__name__
    if isinstance(kind, EnumClass):
        return isinstance(value, EnumMember) and value.kind is kind.kind
    if isinstance(kind, DtypeValue):
        return isinstance(value, Scalar) and value.dtype == kind.dtype
    if isinstance(kind, Symbol):
        if kind.name in _KINDS:
            return isinstance(value, Scalar) and value.dtype.kind in _KINDS[kind.name]
        if kind.name == "builtins.tuple":
            return isinstance(value, Tuple)
        if kind.name == "builtins.str":
            return isinstance(value, StringValue)
        if kind.name == "numpy.ndarray":
            return isinstance(value, Array | ConstantArray)
    ev.refuse(f"`isinstance` does not know {kind.describe()} in a kernel")


MAX_PRINTED = 32


@intrinsic("builtins.print")
def print_(ev: Evaluator, *values: Value) -> Value:
    if len(values) > MAX_PRINTED:
        ev.fail(f"`print` takes up to {MAX_PRINTED} values in a kernel, {len(values)} were given")
    parts: list[str | Scalar] = []
    for position, value in enumerate(values):
        parts += ([" "] if position else []) + _printed(ev, value)
    joined: list[str | Scalar] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    ev.out.print(joined)
    return NoneValue()


def _printed(ev: Evaluator, value: Value) -> list[str | Scalar]:
    if isinstance(value, StringValue):
        return [value.text]
    if isinstance(value, Scalar | EnumMember):
        return [ev.number(value, "`print`")]
    if isinstance(value, NoneValue):
        return ["None"]
    if isinstance(value, Symbol) and value.name.rpartition(".")[2] in ev.AXES:
        value = Tuple(tuple(ev.on_getattr(axis, value) for axis in "xyz"))
    if isinstance(value, Tuple | Vector):
        parts: list[str | Scalar] = ["("]
        for position, item in enumerate(value.items):
            parts += ([", "] if position else []) + _printed(ev, item)
        return [*parts, ",)" if len(value.items) == 1 else ")"]
    ev.refuse(f"`print` can show numbers and strings in a kernel, not {value.describe()}: print its elements")


@intrinsic("numpy.dtype")
def dtype_(ev: Evaluator, kind: Value) -> Value:
    return DtypeValue(arrays.dtype_of(ev, kind))


def host_value(ev: Evaluator, value: Value) -> object:
    """A constant as a Python object, for the arguments of an exception."""
    if isinstance(value, StringValue):
        return value.text
    if isinstance(value, Scalar) and value.constant is not None:
        return value.constant.item()
    if isinstance(value, Tuple):
        return tuple(host_value(ev, item) for item in value.items)
    if isinstance(value, NoneValue):
        return None
    ev.refuse("the arguments of an exception in a kernel must be constants")


# --- universal functions ---------------------------------------------------------------------------------------------


def ufunc_with_output(ev: Evaluator, name: str, args: list[Value]) -> Value:
    """`np.add(x, y, out)` over whole arrays: one element after the other, by each thread that calls it."""
    *inputs, output = args
    if not isinstance(output, Array) or not inputs:
        ev.refuse(f"`{name}` over arrays needs the output array as its last argument, because a thread cannot allocate")
    for value in inputs:
        if isinstance(value, Array) and value.ndim != output.ndim:
            ev.fail(f"`{name}` needs inputs with as many dimensions as its output")

    def axis(index: list[Scalar]) -> None:
        if len(index) < output.ndim:
            ev.out.loop(output.shape[len(index)], lambda k: axis([*index, k]))
            return
        numbers = [arrays.element(ev, value, index) if isinstance(value, Array) else value for value in inputs]
        arrays.put_element(ev, output, index, ev.call_function(name, numbers, {}))

    axis([])
    return output
