"""What each instruction of a kernel means for the values it meets: the rules of the language.

`Evaluator.evaluate` takes an instruction of the graph and the values of its operands, asks `types`, `functions`,
`arrays` and `intrinsics` what that means, and issues operations to a `Typist` or a `Builder`.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import types as python_types
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from gpukit.errors import GpukitError, KernelTypeError, UnsupportedFeature
from gpukit.machine.frontends.python import (
    arrays,
    functions,
    intrinsics,
    intrinsics_sync,  # noqa: F401 (registers its handlers)
    iteration,
    registry,
    symbols,
    types,
)
from gpukit.machine.frontends.python.builder import Typist
from gpukit.machine.frontends.python.cfg import Instruction
from gpukit.machine.frontends.python.source import DeviceArray, Source, materialise, meaning
from gpukit.machine.frontends.python.symbols import Name, Unknown
from gpukit.machine.frontends.python.values import (
    BOOL,
    MAX_PARTS,
    Array,
    ConstantArray,
    DtypeValue,
    EllipsisValue,
    EnumClass,
    EnumMember,
    ExceptionValue,
    FunctionValue,
    Method,
    Module,
    NamedTupleClass,
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
)

if TYPE_CHECKING:
    from gpukit.machine.frontends.python.inference import Compiler

NUMBERS = {"pi": np.pi, "e": np.e, "inf": np.inf, "nan": np.nan, "tau": 2 * np.pi, "infty": np.inf, "Inf": np.inf}
COMPLEX_NUMBERS = {"cmath.infj": complex(0, np.inf), "cmath.nanj": complex(0, np.nan)}
SPECIAL_AXES = {"threadIdx": "tid", "blockIdx": "ctaid", "blockDim": "ntid", "gridDim": "nctaid"}
INT32 = np.dtype(np.int32)
OPERATOR_FUNCTIONS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "lshift": "<<",
    "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "ne": "!=", "is_": "is", "is_not": "is not",
    "iadd": "+", "isub": "-", "imul": "*", "itruediv": "/", "ifloordiv": "//", "imod": "%", "ipow": "**",
    "ilshift": "<<", "irshift": ">>", "iand": "&", "ior": "|", "ixor": "^",
}  # fmt: skip
OPERATOR_UNARY = {"neg": "-", "pos": "+", "invert": "~", "inv": "~", "not_": "not"}
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in"})


class Evaluator:
    """Evaluates the instructions of one function. `line` is the line being evaluated, for errors."""

    AXES = SPECIAL_AXES

    def __init__(self, out: Typist, compiler: Compiler, source: Source, captured: dict[str, Value], scope: tuple):
        self.out = out
        self.compiler = compiler
        self.source = source
        self.captured = captured
        self.scope = scope  # which function, compiled for which types: two calls of one share their shared arrays
        self.unrolled: frozenset[tuple[int, int]] = frozenset()
        self.line = source.first_line
        self.recursive = False

    # --- errors ----------------------------------------------------------------------------------------------------

    def fail(self, message: str) -> NoReturn:
        raise KernelTypeError(message, file=self.source.file, line=self.line)

    def refuse(self, message: str) -> NoReturn:
        raise UnsupportedFeature(message, file=self.source.file, line=self.line)

    # --- instructions ----------------------------------------------------------------------------------------------

    def evaluate(self, instruction: Instruction, args: list[Value]) -> Value:
        self.line = instruction.line
        try:
            return getattr(self, "on_" + instruction.op)(instruction.detail, *args)
        except GpukitError as error:
            if error.line is None:  # raised by a table that does not know where it is used
                raise type(error)(error.message, file=self.source.file, line=self.line) from None
            raise

    def on_constant(self, value: object) -> Value:
        return self.lift(value, "")

    def on_global(self, name: str) -> Value:
        if name in self.captured:
            return self.captured[name]
        if name == self.source.name and self.source.tree.name == name and self._is_own_name(name):
            return FunctionValue(self.source)
        with contextlib.suppress(KeyError):
            return self.lift(self.source.resolve(name), name)
        self.fail(f"the name `{name}` is not defined: define it before the kernel, or pass it as an argument")

    def _is_own_name(self, name: str) -> bool:
        """A function defined inside a kernel that calls itself: its name is no global."""
        try:
            self.source.resolve(name)
        except KeyError:
            return True
        return False

    def lift(self, found: object, name: str) -> Value:
        """The value of a Python object that is known at compile time."""
        found = materialise(found)
        if found is None:
            return NoneValue()
        if found is Ellipsis:
            return EllipsisValue()
        if isinstance(found, bool | int | float | complex) and not isinstance(found, enum.Enum):
            dtype = types.literal(found)
            if dtype is None:
                self.fail(f"the number {found} does not fit in 64 bits")
            return constant(found, dtype)
        if isinstance(found, str) and not isinstance(found, enum.Enum):
            return StringValue(str(found))
        if isinstance(found, bytes):
            return StringValue(found.decode("latin-1"))
        if isinstance(found, enum.Enum):
            return self._member(found)
        if isinstance(found, np.void):
            return ConstantArray(np.array(found), name)
        if isinstance(found, np.generic):
            return arrays.scalar_constant(found)
        if isinstance(found, Name):
            return self.named(found.dotted)
        if isinstance(found, np.dtype):
            return DtypeValue(found)
        if isinstance(found, tuple):
            fields = tuple(getattr(found, "_fields", ()))
            items = tuple(self.lift(meaning(item), name) for item in found)
            return Tuple(items, fields, type(found).__name__)
        if isinstance(found, np.ndarray):
            return ConstantArray(found, name)
        if isinstance(found, DeviceArray):
            return ConstantArray(found.memory, name, shared=True)
        if isinstance(found, Source):
            return FunctionValue(found, defaults=tuple(self.lift(d, name) for d in found.defaults))
        if isinstance(found, python_types.ModuleType | symbols.Namespace):
            return Module(found)
        if isinstance(found, type):
            if issubclass(found, enum.Enum):
                return EnumClass(found)
            if issubclass(found, BaseException):
                return ExceptionValue(found)
            if issubclass(found, tuple):
                return NamedTupleClass(found)
        what = found.what if isinstance(found, Unknown) else f"a {type(found).__name__} object"
        shown = f"`{name}` is" if name else "this is"
        self.fail(f"{shown} {what}, which a kernel cannot use: pass arrays and numbers as arguments")

    def _member(self, member: enum.Enum) -> Value:
        return EnumMember(type(member), self.lift(member.value, member.name), isinstance(member, int))

    def named(self, dotted: str) -> Value:
        """The value of a name of the vocabulary."""
        dotted = symbols.canonical(dotted)
        package, _, last = dotted.rpartition(".")
        if package in ("math", "cmath", "numpy") and last in NUMBERS:
            return constant(NUMBERS[last], np.float64)
        if dotted in COMPLEX_NUMBERS:
            return constant(COMPLEX_NUMBERS[dotted], np.complex128)
        if dotted in ("cuda.warpsize", "cuda.WARP_SIZE"):
            return constant(32, INT32)
        if dotted == "cuda.laneid":
            return self.out.special("laneid", INT32)
        if package == "builtins" and last in intrinsics.EXCEPTIONS:
            return ExceptionValue(intrinsics.EXCEPTIONS[last])
        if package in ("numpy", "numba", "cuda"):
            dtype = types.from_name(last)
            if dtype is not None:
                return DtypeValue(dtype)
        return Symbol(dotted)

    # --- arithmetic ------------------------------------------------------------------------------------------------

    def number(self, value: Value, what: str) -> Scalar:
        """The scalar a value stands for in arithmetic."""
        if isinstance(value, Scalar):
            return value
        if isinstance(value, EnumMember) and value.is_int:
            return self.number(value.value, what)
        if isinstance(value, ConstantArray) and value.data.ndim == 0:
            return self.number(arrays.element(self, arrays.freeze(self, value), ()), what)
        self.fail(f"{what} needs a number, not {value.describe()}")

    def on_binary(self, symbol: str, a: Value, b: Value, check: str | None = None) -> Value:
        if isinstance(a, Tuple) and isinstance(b, Tuple) and symbol == "+":
            return Tuple(a.items + b.items)
        if isinstance(a, Tuple) and isinstance(b, Scalar) and symbol == "*" and b.constant is not None:
            if len(a.items) * int(b.constant) > MAX_PARTS:
                self.fail(f"a tuple of more than {MAX_PARTS:,} values: use an array")
            return Tuple(a.items * int(b.constant))
        if symbol == "@":
            self.refuse("`@` is not available in a kernel: write the loop over the inner dimension")
        if isinstance(a, Array | ConstantArray) or isinstance(b, Array | ConstantArray):
            self.refuse(f"`{symbol}` works on numbers in a kernel, not on whole arrays: index the arrays, or loop")
        if isinstance(a, EnumMember) and isinstance(b, EnumMember) and not (a.is_int and b.is_int):
            self.fail(f"`{symbol}` is not defined for members of an Enum: use IntEnum")
        x, y = self.number(a, f"`{symbol}`"), self.number(b, f"`{symbol}`")
        if symbol == "**":
            exponent = y.constant.item() if y.constant is not None else None
            rule = types.power(x.dtype, y.dtype, exponent)
        else:
            rule = types.binary(symbol, x.dtype, y.dtype)
        if rule is None:
            self.fail(f"`{symbol}` is not defined for {x.dtype} and {y.dtype}")
        return self.out.apply(rule, (x, y), check if rule.check == "float" else None)

    on_augmented = on_binary

    def on_accumulate(self, symbol: str, a: Value, b: Value) -> Value:
        return self.on_binary(symbol, a, b, "accumulate")

    def on_unary(self, symbol: str, a: Value) -> Value:
        x = self.number(a, f"`{symbol}`")
        rule = types.unary(symbol, x.dtype)
        if rule is None:
            self.fail(f"`{symbol}` is not defined for {x.dtype}")
        return self.out.apply(rule, (x,))

    def on_not(self, _: object, a: Value) -> Value:
        x = self.condition(a)
        return self.out.apply(types.unary("not", BOOL), (x,))  # type: ignore[arg-type]

    def on_truth(self, _: object, a: Value) -> Value:
        return self.condition(a)

    def condition(self, a: Value) -> Scalar:
        """`bool(a)`."""
        if isinstance(a, NoneValue):
            return constant(False, BOOL)
        if isinstance(a, StringValue):
            return constant(bool(a.text), BOOL)
        if isinstance(a, Tuple):
            return constant(bool(a.items), BOOL)
        if isinstance(a, EnumMember) and not a.is_int:
            return constant(True, BOOL)
        if isinstance(a, Array | ConstantArray):
            self.refuse("the truth of a whole array is not defined: test one element, or `array.size > 0`")
        x = self.number(a, "a condition")
        rule = types.truth(x.dtype)
        return x if x.dtype == BOOL else self.out.apply(rule, (x,), count=0)

    def on_compare(self, symbol: str, a: Value, b: Value) -> Value:
        if symbol in ("in", "not in"):
            return self._contains(symbol, a, b)
        if symbol in ("is", "is not"):
            if isinstance(a, NoneValue) or isinstance(b, NoneValue):
                same = isinstance(a, NoneValue) and isinstance(b, NoneValue)
                return constant(same == (symbol == "is"), BOOL)
            if isinstance(a, EnumMember) and isinstance(b, EnumMember) and a.kind is not b.kind:
                return constant(symbol == "is not", BOOL)
            symbol = "==" if symbol == "is" else "!="
        if symbol in ("==", "!="):
            known = self._equal(a, b)
            if known is not None:
                return known if symbol == "==" else self.on_not(None, known)
        if isinstance(a, Tuple) and isinstance(b, Tuple):
            self.refuse(f"`{symbol}` between tuples is not available in a kernel: compare the items")
        return self.on_binary(symbol, a, b)

    def _equal(self, a: Value, b: Value) -> Scalar | None:
        """`a == b` where it is not a comparison of two numbers."""
        if isinstance(a, NoneValue) or isinstance(b, NoneValue):
            return constant(isinstance(a, NoneValue) and isinstance(b, NoneValue), BOOL)
        if isinstance(a, StringValue) and isinstance(b, StringValue):
            return constant(a.text == b.text, BOOL)
        if isinstance(a, DtypeValue) and isinstance(b, DtypeValue):
            return constant(a.dtype == b.dtype, BOOL)
        if isinstance(a, EnumMember) and isinstance(b, EnumMember) and not (a.is_int and b.is_int):
            if a.kind is not b.kind:
                return constant(False, BOOL)
            return self.condition(self.on_compare("==", a.value, b.value))
        if isinstance(a, Tuple) and isinstance(b, Tuple):
            if len(a.items) != len(b.items):
                return constant(False, BOOL)
            result = constant(True, BOOL)
            for x, y in zip(a.items, b.items, strict=True):
                result = self.out.alu("({0} & {1})", (result, self.condition(self.on_compare("==", x, y))), BOOL)
            return result
        return None

    def _contains(self, symbol: str, item: Value, container: Value) -> Value:
        if not isinstance(container, Tuple):
            self.refuse(f"`{symbol}` is available for tuples only: loop over the array")
        result = constant(False, BOOL)
        for other in container.items:
            result = self.out.alu("({0} | {1})", (result, self.condition(self.on_compare("==", item, other))), BOOL)
        return result if symbol == "in" else self.on_not(None, result)

    # --- containers ------------------------------------------------------------------------------------------------

    def on_tuple(self, _: object, *items: Value) -> Value:
        return Tuple(items)

    def on_slice(self, _: object, start: Value, stop: Value, step: Value) -> Value:
        return SliceValue(start, stop, step)

    def on_unpack(self, detail: tuple[int, int], value: Value) -> Value:
        position, count = detail
        items = value.items if isinstance(value, Tuple | Vector) else None
        if items is None:
            array = self.as_array(value)
            if array is None or array.ndim == 0:
                self.fail(f"{value.describe()} cannot be unpacked into {count} names")
            return arrays.get(self, array, constant(position, np.int64))
        if len(items) != count:
            self.fail(f"{len(items)} values cannot be unpacked into {count} names")
        return items[position]

    def as_array(self, value: Value) -> Array | None:
        """The array a value is, with one that the kernel names bound into it."""
        if isinstance(value, ConstantArray):
            return arrays.freeze(self, value)
        return value if isinstance(value, Array) else None

    def on_getitem(self, _: object, container: Value, index: Value) -> Value:
        if isinstance(container, Tuple):
            return self._tuple_item(container, index)
        if isinstance(container, EnumClass) and isinstance(index, StringValue):
            return self.on_getattr(index.text, container)
        if isinstance(container, Record) and isinstance(index, StringValue):
            return arrays.field(self, container, index.text)
        if isinstance(container, Record) and isinstance(index, Scalar) and index.constant is not None:
            names = container.array.dtype.names or ()
            if 0 <= int(index.constant) < len(names):
                return arrays.field(self, container, names[int(index.constant)])
        array = self.as_array(container)
        if array is None and isinstance(container, FunctionValue) and isinstance(index, Tuple):
            self.fail(
                f"a kernel cannot launch another: launch {container.describe()} from the host, or call it as a device "
                "function, without [grid, block]"
            )
        if array is None:
            hint = " (call it with parentheses)" if isinstance(container, FunctionValue | Symbol | Method) else ""
            self.fail(f"{container.describe()} cannot be indexed{hint}")
        return arrays.get(self, array, index)

    def _tuple_item(self, container: Tuple, index: Value) -> Value:
        count = len(container.items)
        if isinstance(index, SliceValue):
            parts: list[int | None] = []
            for part in (index.start, index.stop, index.step):
                if isinstance(part, NoneValue):
                    parts.append(None)
                elif isinstance(part, Scalar) and part.constant is not None:
                    parts.append(int(part.constant))
                else:
                    self.refuse("a tuple can be sliced with constants only")
            return Tuple(container.items[slice(*parts)])
        position = self.number(index, "a tuple index")
        if position.dtype.kind not in "iub":
            self.fail(f"a tuple index must be an integer, not {position.dtype}")
        if position.constant is not None:
            place = int(position.constant)
            if not -count <= place < count:
                self.fail(f"the tuple has {count} items, index {place} is outside")
            return container.items[place]
        position = self.out.cast(position, np.dtype(np.int64))
        chosen = [
            self.out.alu(f"(({{0}} == {place}) | ({{0}} == {place - count}))", (position,), BOOL)
            for place in range(1, count)
        ]
        return self._chosen(container.items, chosen)

    def _chosen(self, items: Sequence[Value], chosen: list[Scalar]) -> Value:
        """The item whose flag is set, the first where none is. `chosen` has a flag for every item but the first."""
        rows = [item for item in items if isinstance(item, Tuple)]
        if rows and len(rows) == len(items):
            first = rows[0]
            if any(len(row.items) != len(first.items) for row in rows):
                self.fail("a tuple whose items differ in length can be indexed with constants only")
            columns = zip(*(row.items for row in rows), strict=True)
            return Tuple(tuple(self._chosen(column, chosen) for column in columns), first.names, first.kind)
        if not items or not all(isinstance(item, Scalar) for item in items):
            self.fail("a tuple whose items are not numbers of one type can be indexed with constants only")
        result = items[0].leaves[0]
        if any(item.leaves[0].dtype != result.dtype for item in items):
            self.fail("a tuple whose items differ in type can be indexed with constants only")
        for here, item in zip(chosen, items[1:], strict=True):
            result = self.out.select(here, item.leaves[0], result)
        return result

    def on_setitem(self, _: object, container: Value, index: Value, value: Value) -> Value:
        if isinstance(container, Record) and isinstance(index, StringValue):
            return arrays.set_field(self, container, index.text, value)
        if isinstance(container, Tuple):
            self.fail("a tuple cannot be changed: make a new one, or use an array")
        array = self.as_array(container)
        if array is None:
            self.fail(f"{container.describe()} has no items to assign to")
        arrays.put(self, array, index, value)
        return NoneValue()

    def on_setattr(self, name: str, container: Value, value: Value) -> Value:
        if isinstance(container, Record):
            return arrays.set_field(self, container, name, value)
        self.refuse(f"the attribute `{name}` of {container.describe()} cannot be assigned in a kernel")

    # --- attributes ------------------------------------------------------------------------------------------------

    def on_getattr(self, name: str, value: Value) -> Value:
        if isinstance(value, Symbol):
            return self._symbol_attribute(value, name)
        if isinstance(value, Array | ConstantArray):
            array = self.as_array(value)
            assert array is not None
            return arrays.attribute(self, array, name)
        if isinstance(value, Record):
            return arrays.field(self, value, name)
        if isinstance(value, Tuple):
            if name in value.names:
                return value.items[value.names.index(name)]
        elif isinstance(value, Vector):
            if name in "xyzw"[: len(value.items)] and len(name) == 1:
                return value.items["xyzw".index(name)]
        elif isinstance(value, EnumClass):
            member = value.kind.__members__.get(name)
            if member is not None:
                return self._member(member)
        elif isinstance(value, EnumMember):
            if name == "value":
                return value.value
        elif isinstance(value, Module):
            try:
                found = value.lookup(name)
            except KeyError:
                self.fail(f"the module `{value.module.__name__}` has no `{name}`")
            return self.lift(meaning(found), f"{value.module.__name__}.{name}")
        elif isinstance(value, Scalar):
            return self._scalar_attribute(value, name)
        elif isinstance(value, DtypeValue):
            if name == "type":
                return value
            if name == "itemsize":
                return constant(value.dtype.itemsize, np.int64)
            if name == "kind":
                return StringValue(value.dtype.kind)
        self.fail(f"{value.describe()} has no attribute `{name}`")

    def _symbol_attribute(self, symbol: Symbol, name: str) -> Value:
        package, _, last = symbol.name.rpartition(".")
        if package == "cuda" and last in SPECIAL_AXES:
            if name not in ("x", "y", "z"):
                self.fail(f"`{last}` has x, y and z, no `{name}`")
            return self.out.special(f"{SPECIAL_AXES[last]}.{name}", INT32)
        if symbol.name == "cuda" and name not in SPECIAL_AXES:
            axes = next((known for known in SPECIAL_AXES if known.lower() == name.lower()), None)
            if axes is not None:
                self.fail(f"`cuda` has no `{name}`: did you mean `cuda.{axes}`?")
        return self.named(f"{symbol.name}.{name}")

    def _scalar_attribute(self, value: Scalar, name: str) -> Value:
        if name in ("real", "imag"):
            if value.dtype.kind == "c":
                return self.out.alu(f"{{0}}.{name}", (value,), np.dtype(f"f{value.dtype.itemsize // 2}"), count=1)
            return value if name == "real" else constant(0, value.dtype)
        if name in ("conjugate", "bit_count", "item"):
            return Method(value, name)
        self.fail(f"a number ({value.dtype}) has no attribute `{name}`")

    # --- loops -----------------------------------------------------------------------------------------------------

    def on_iter(self, key: tuple[int, int], iterable: Value) -> Value:
        return iteration.iterable(self, iterable, key)

    def on_iter_start(self, _: object, iterable: Value) -> Value:
        return iteration.start(self, iterable)

    def on_iter_test(self, _: object, iterable: Value, state: Value) -> Value:
        return iteration.more(self, iterable, state)

    def on_iter_item(self, _: object, iterable: Value, state: Value) -> Value:
        return iteration.item(self, iterable, state)

    def on_iter_next(self, _: object, iterable: Value, state: Value) -> Value:
        return iteration.following(self, iterable, state)

    def on_iter_fixed(self, position: int, iterable: Value) -> Value:
        return iteration.fixed(self, iterable, position)

    # --- calls -----------------------------------------------------------------------------------------------------

    def on_call(self, detail: tuple, function: Value, *values: Value) -> Value:
        starred, names, key = detail
        positional: list[Value] = []
        for value, star in zip(values, starred, strict=False):
            if not star:
                positional.append(value)
            elif isinstance(value, Tuple):
                positional.extend(value.items)
            else:
                self.fail(f"`*` needs a tuple, not {value.describe()}")
        keywords = dict(zip(names, values[len(starred) :], strict=True))
        return self.call(function, positional, keywords, key)

    def call(self, function: Value, args: list[Value], keywords: dict[str, Value], key: tuple[int, int]) -> Value:
        if isinstance(function, FunctionValue):
            return self.compiler.call(self, function, args, keywords)
        if isinstance(function, Symbol):
            return self._call_symbol(function.name, args, keywords, key)
        if isinstance(function, DtypeValue):
            return self._convert(function.dtype, args)
        if isinstance(function, Method):
            return arrays.call_method(self, function, args, keywords)
        if isinstance(function, NamedTupleClass):
            return self._named_tuple(function, args, keywords)
        if isinstance(function, EnumClass):
            self.refuse("an enum cannot be made from a number in a kernel: compare with the members' values")
        if isinstance(function, ExceptionValue):
            return function
        self.fail(f"{function.describe()} cannot be called")

    def _named_tuple(self, function: NamedTupleClass, args: list[Value], keywords: dict[str, Value]) -> Value:
        fields = function.kind._fields  # type: ignore[attr-defined]
        given = dict(zip(fields, args, strict=False)) | keywords
        if len(args) > len(fields) or set(given) != set(fields):
            self.fail(f"`{function.kind.__name__}` takes the fields {', '.join(fields)}")
        return Tuple(tuple(given[name] for name in fields), fields, function.kind.__name__)

    def _convert(self, dtype: np.dtype, args: list[Value]) -> Value:
        """`np.float32(x)`: an explicit conversion."""
        if len(args) != 1:
            self.fail(f"{dtype}() takes one number")
        value = self.number(args[0], f"{dtype}()")
        if not types.can_cast(value.dtype, dtype):
            self.fail(f"{value.dtype} cannot be converted to {dtype}")
        return self.out.cast(value, dtype, count=1)

    def _call_symbol(self, name: str, args: list[Value], keywords: dict[str, Value], key: tuple[int, int]) -> Value:
        package, _, last = name.rpartition(".")
        result = registry.call(self, name, args, keywords, key)
        if result is not None:
            return result
        if package == "operator" and not keywords:
            if last in OPERATOR_FUNCTIONS and len(args) == 2:
                symbol = OPERATOR_FUNCTIONS[last]
                return (self.on_compare if symbol in COMPARISONS else self.on_binary)(symbol, *args)
            if last in OPERATOR_UNARY and len(args) == 1:
                return self.on_not(None, args[0]) if last == "not_" else self.on_unary(OPERATOR_UNARY[last], args[0])
            if last == "getitem" and len(args) == 2:
                return self.on_getitem(None, *args)
            if last == "setitem" and len(args) == 3:
                return self.on_setitem(None, *args)
        vector = intrinsics.vector_type(name)
        if vector is not None:
            return intrinsics.make_vector(self, *vector, args)
        return self.call_function(name, args, keywords)

    def call_function(self, name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
        """A function that is no intrinsic: one of gpukit's, or math.sqrt, cuda.popc, min, libdevice ..."""
        device = self.compiler.device_function(name)
        if device is not None:
            return self.compiler.call(self, device, list(args), keywords)
        return self.call_scalar(name, args, keywords)

    def call_scalar(self, name: str, args: Sequence[Value], keywords: dict[str, Value]) -> Value:
        """The entry of `functions` under that name, applied."""
        function = functions.lookup(name)
        if function is None:
            unknown = f"`{registry.shown(name)}` is not available in a kernel{registry.suggestion(name)}"
            self.refuse(intrinsics.ADVICE.get(name) or unknown)
        if keywords:
            self.fail(f"`{name.removeprefix('builtins.')}` takes no keyword arguments in a kernel")
        outputs = [value for value in args if isinstance(value, Array)]
        if outputs:
            return intrinsics.ufunc_with_output(self, name, list(args))
        numbers = [self.number(value, f"`{name.removeprefix('builtins.')}`") for value in args]
        constants = tuple(x.constant.item() if x.constant is not None else None for x in numbers)
        rule = function.resolve(tuple(x.dtype for x in numbers), constants)
        if rule is None:
            given = ", ".join(str(x.dtype) for x in numbers)
            self.fail(f"`{name.removeprefix('builtins.')}` is not defined for ({given})")
        results = self.out.apply_all(rule, numbers)
        return results[0] if len(results) == 1 else Tuple(tuple(results))

    def on_closure(self, detail: tuple[ast.FunctionDef, tuple[str, ...]], *values: Value) -> Value:
        tree, names = detail
        source = self.compiler.nested(self.source, tree)
        outer = tuple((name, value) for name, value in self.captured.items() if name not in names)
        captured = dict(zip(names, values, strict=False)) | dict(outer)
        return FunctionValue(source, tuple(captured), tuple(captured.values()), values[len(names) :])

    def on_raise(self, condition: str | None, exception: Value, *args: Value) -> Value:
        if not isinstance(exception, ExceptionValue):
            self.fail(f"`raise` needs an exception, not {exception.describe()}")
        if self.source.debug or self.compiler.kernel.debug:
            values = tuple(intrinsics.host_value(self, value) for value in args)
            text = ", ".join(str(value) for value in values)
            message = exception.kind.__name__ + (f": {text}" if text else "")
            if condition is not None:
                message = f"assert {condition}" + (f": {text}" if text else "")
            self.out.stop(message, exception.kind, values)
        return NoneValue()
