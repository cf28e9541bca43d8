"""Explicit signatures: reading them, and fitting a launch's arguments to them."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from gpukit.cuda import types
from gpukit.cuda.errors import KernelTypeError, SignatureError
from gpukit.cuda.types import Array, Number, Signature, Type


def is_signature(value: Any) -> bool:
    """Whether the first argument of @cuda.jit is a signature (not a function, nor a list of signatures)."""
    return isinstance(value, (str, tuple, Signature)) or _is_foreign(value)


def _is_foreign(value: Any) -> bool:
    """A type or signature made by an installed numba, when numba.cuda's own types are not in use."""
    return type(value).__module__.split(".")[0] == "numba" and not hasattr(value, "py_func")


def parse(value: Any) -> Signature:
    """A `Signature` from "void(float32[:], int32)", (float32[:], int32) or void(float32[:], int32)."""
    if isinstance(value, Signature):
        return value
    if isinstance(value, tuple):
        return Signature(None, tuple(_as_type(item) for item in value))
    if isinstance(value, str):
        text = value
    elif hasattr(value, "args") and hasattr(value, "return_type"):
        return Signature(_as_type(value.return_type), tuple(_as_type(item) for item in value.args))
    else:
        text = str(value)
    try:
        found = _evaluate(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        raise KernelTypeError(f'the signature "{text}" is not valid: {error.msg}') from None
    if isinstance(found, tuple):
        return Signature(None, found)
    if isinstance(found, Signature):
        return found
    raise KernelTypeError(f'the signature "{text}" names a type but lists no arguments; write "void({text})"')


def _as_type(value: Any) -> Type:
    """A facade type from one of ours, or from the same type of an installed numba."""
    if isinstance(value, Type):
        return value
    if _is_foreign(value):
        if hasattr(value, "ndim") and hasattr(value, "layout"):
            return Array(_as_type(value.dtype), value.ndim, value.layout, readonly=not value.mutable)
        if hasattr(value, "members") and hasattr(value, "offset"):
            return types.from_dtype(_record_dtype(value))
        if str(value) in types.SCALARS or str(value) == "none":
            return types.SCALARS.get(str(value), types.none)
    raise KernelTypeError(f"a signature lists types, but {value!r} is a {type(value).__name__}")


def _record_dtype(record: Any) -> np.dtype:
    """The NumPy dtype of an installed numba's record type."""
    names = [name for name, _ in record.members]
    formats: list[Any] = []
    for _, member in record.members:
        if hasattr(member, "members"):
            formats.append(_record_dtype(member))
        elif hasattr(member, "shape"):  # an array inside the record
            formats.append((np.dtype(str(member.dtype)), tuple(member.shape)))
        else:
            formats.append(np.dtype(str(member)))
    offsets = [record.offset(name) for name in names]
    layout: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": record.size}
    return np.dtype(layout, align=bool(record.aligned))


def _evaluate(node: ast.expr) -> Any:
    """The value of a type expression. Only names of types, subscripts, calls and tuples mean anything."""
    match node:
        case ast.Name(id=name):
            found = getattr(types, name, None)
            if not isinstance(found, (Type, type)):
                raise KernelTypeError(f"there is no type called {name!r} in a signature")
            return found
        case ast.Attribute(attr=name):
            return _evaluate(ast.Name(id=name))
        case ast.Tuple(elts=items):
            return tuple(_evaluate(item) for item in items)
        case ast.Subscript(value=value, slice=index):
            return _evaluate(value)[_evaluate(index)]
        case ast.Slice(lower=None, upper=None, step=step):
            return slice(None, None, None if step is None else ast.literal_eval(step))
        case ast.Call(func=function, args=args, keywords=[]):
            return _evaluate(function)(*[_evaluate(arg) for arg in args])
        case ast.Constant(value=int() as number):
            return number
    raise KernelTypeError(f'"{ast.unparse(node)}" means nothing in a signature')


def accepts(declared: Type, given: Type) -> bool:
    """Whether an argument of type `given` may be passed where `declared` stands. Scalars convert; arrays do not."""
    if declared == given:
        return True
    if isinstance(declared, Array):
        return (
            isinstance(given, Array)
            and _same_memory(declared.dtype, given.dtype)
            and declared.ndim == given.ndim
            and (declared.layout == "A" or declared.layout == given.layout or (given.ndim <= 1 and given.layout != "A"))
            and (given.mutable or not declared.mutable)
        )
    if isinstance(declared, types.BaseTuple):
        return (
            isinstance(given, types.BaseTuple)
            and len(declared) == len(given)
            and all(accepts(d, g) for d, g in zip(declared, given, strict=True))
        )
    if isinstance(declared, Number):
        return isinstance(given, (Number, types.IntEnumMember)) and not (
            isinstance(given, types.Complex) and not isinstance(declared, types.Complex)
        )
    return isinstance(declared, types.Record) and given.numpy_dtype == declared.numpy_dtype


def _same_memory(declared: Type, given: Type) -> bool:
    """Equal element types, or integers of one width: numba reads uint32 memory as int32 where a signature says so."""
    integers = isinstance(declared, types.Integer) and isinstance(given, types.Integer)
    return declared == given or (integers and declared.numpy_dtype.itemsize == given.numpy_dtype.itemsize)


def convert(declared: Type, value: Any) -> Any:
    """`value` as the type it is declared with."""
    if isinstance(declared, Number):
        return declared.convert(value) if not isinstance(declared, types.Boolean) else bool(value)
    if isinstance(declared, Array):
        return value if value.dtype == types.as_dtype(declared.dtype) else value.view(declared.dtype.numpy_dtype)
    if isinstance(declared, types.BaseTuple):
        items = [convert(d, v) for d, v in zip(declared, value, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def fit(name: str, signatures: list[Signature], args: tuple) -> tuple:
    """The arguments converted to the first exact signature, else to the first they can be converted to.

    Raises SignatureError with the types that were given where none fits.
    """
    given = tuple(types.typeof(arg) for arg in args)
    matching = [s for s in signatures if len(s.args) == len(given) and all(map(accepts, s.args, given))]
    if not matching:
        declared = " or ".join(f"({', '.join(map(str, s.args))})" for s in signatures)
        raise SignatureError(
            f"No matching definition for argument type(s) {', '.join(map(str, given))}: "
            f"{name} is declared for {declared} only"
        )
    exact = [s for s in matching if s.args == given]
    chosen = (exact or matching)[0]
    return tuple(convert(declared, arg) for declared, arg in zip(chosen.args, args, strict=True))
