"""Kernel arguments written on a command line.

    [NAME=] 42 | 1.5 | true | float32(1.5) | @FILE.npy | [DTYPE][SIZE, ...][:FILL]

where FILL is zeros (the default), ones, arange, random, random(SEED) or full(NUMBER). A C++ kernel's parameters have
types, so numbers take those and an array's DTYPE may be left out; a Python kernel is compiled for what it is given.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpukit.cpp import dtypes
from gpukit.errors import LaunchError

if TYPE_CHECKING:
    from gpukit.cpp.signatures import Parameter

_NAMED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_ARRAY = re.compile(r"(\w*)\[([^\]]*)\](?::(\w+)(?:\(([^)]*)\))?)?")
_TYPED = re.compile(r"([A-Za-z]\w*)\(([^)]*)\)")
_RANDOM_INTEGERS = 100  # random integers are below this, so that they fit every dtype and sums stay readable


@dataclass(frozen=True, slots=True)
class Untyped:
    """An array written without a dtype, such as [1024]:ones: the kernel's parameter decides it."""

    text: str
    shape: str
    fill: str | None
    parameter: str | None

    def of(self, dtype: str) -> np.ndarray:
        """The array of this dtype."""
        return _array(f"{dtype}{self.text}", dtype, self.shape, self.fill, self.parameter)


def parse(spec: str) -> tuple[str | None, object]:
    """One `--arg` as (parameter name or None, value). Arrays are NumPy arrays (or `Untyped`), numbers Python or NumPy
    scalars.

    Raises:
        LaunchError: the text does not follow the grammar, or the array cannot be made.
    """
    named = _NAMED.fullmatch(spec.strip())
    name, text = (named[1], named[2].strip()) if named else (None, spec.strip())
    return name, _value(text)


def arrange(
    arguments: Iterable[tuple[str | None, object]],
    parameters: Sequence[str],
    defaults: Sequence[object] = (),
    shown: Mapping[str, str] | None = None,
) -> list[object]:
    """Values in the order of the kernel's parameters: unnamed ones first come, first served, then the named ones.

    `defaults` are the values of the last parameters, for those that are not given; `shown` is what messages call a
    parameter, such as "const float* x".

    Raises:
        LaunchError: a name the kernel does not have, a parameter given twice or not at all.
    """
    arguments = list(arguments)
    words = shown or {}
    signature = f"({', '.join(words.get(name, name) for name in parameters)})"
    unnamed = [value for name, value in arguments if name is None]
    if len(unnamed) > len(parameters):
        raise LaunchError(f"{len(unnamed)} arguments for a kernel with {len(parameters)} parameters {signature}.")
    values: dict[str, object] = dict(zip(parameters, unnamed, strict=False))
    for name, value in arguments:
        if name is None:
            continue
        if name not in parameters:
            raise LaunchError(f"the kernel has no parameter {name!r}; it takes {signature}.")
        if name in values:
            raise LaunchError(f"parameter {name!r} is given twice.")
        values[name] = value
    if defaults:
        values = {**dict(zip(parameters[-len(defaults) :], defaults, strict=True)), **values}
    missing = [name for name in parameters if name not in values]
    if missing:
        examples = " ".join(f"--arg {name}=..." for name in missing)
        raise LaunchError(f"the kernel takes {signature}; still missing: {examples}")
    return [values[name] for name in parameters]


# --- types -----------------------------------------------------------------------------------------------------------


def for_python(values: Sequence[object], parameters: Sequence[str]) -> list[object]:
    """Values for a Python kernel, whose parameters have no types.

    Raises:
        LaunchError: an array has no dtype.
    """
    for value, name in zip(values, parameters, strict=True):
        if isinstance(value, Untyped):
            raise LaunchError(f"{name}={value.text}: write the array's dtype, such as {name}=float32{value.text}.")
    return list(values)


def for_cpp(values: Sequence[object], parameters: Sequence[Parameter]) -> list[object]:
    """Values as the types of a C++ kernel's parameters.

    Numbers get the parameter's type, arrays without a dtype what the pointer points to. A type that only the compiler
    knows (a structure, a template's T) takes what is given.

    Raises:
        LaunchError: a value that does not fit its parameter.
    """
    return [_for_parameter(value, parameter) for value, parameter in zip(values, parameters, strict=True)]


def _for_parameter(value: object, parameter: Parameter) -> object:
    name, what = parameter.name, f"{parameter.name} is a {parameter.type}"
    if parameter.pointer:
        pointed = dtypes.element(parameter.type)
        dtype = pointed[0].name if pointed else None
        if isinstance(value, Untyped):
            if dtype is None:
                raise LaunchError(f"{what}: write the array's dtype, such as {name}=float32{value.text}.")
            value = value.of(dtype)
        if isinstance(value, int) and parameter.type.startswith("."):
            return value  # in PTX a pointer is a number of 64 bits
        if not isinstance(value, np.ndarray):
            raise LaunchError(f"{what}, so it takes an array, such as {name}={dtype or 'float32'}[1024]; got {value}.")
        if pointed and value.dtype != pointed[0]:
            raise LaunchError(f"{what}, so it takes an array of {dtype}; got one of {value.dtype}.")
        if pointed and value.size % pointed[1]:
            raise LaunchError(f"{what}: {value.size:,} values of {dtype} are no whole number of them.")
        return value
    wanted = dtypes.scalar(parameter.type)
    if isinstance(value, Untyped) or (wanted is not None and isinstance(value, np.ndarray)):
        raise LaunchError(f"{what}, so it takes a number, such as {name}=1024; got an array.")
    if wanted is None:
        return value  # a structure may come as an array of one record
    if isinstance(value, np.generic) and value.dtype != wanted:
        raise LaunchError(f"{what}; got a {value.dtype}.")
    return _exactly(value, wanted, what)


def _exactly(value: object, dtype: np.dtype, what: str) -> np.generic:
    """A number as `dtype`, which must hold it: integers exactly, floats rounded."""
    try:
        with np.errstate(over="ignore"):
            found = dtype.type(value)
    except (OverflowError, TypeError, ValueError):
        found = None
    if found is None or (dtype.kind in "iub" and found != value):
        raise LaunchError(f"{what}, which cannot be {value}.")
    return found


def example(parameters: Sequence[Parameter], elements: int) -> list[str]:
    """A value for each parameter, as one would write them after --arg, quoted for a shell."""
    return [shlex.quote(f"{p.name}={_example(p, elements)}") for p in parameters]


def _example(parameter: Parameter, elements: int) -> str:
    if parameter.pointer:
        dtype, width = dtypes.element(parameter.type) or (np.dtype(np.float32), 1)
        return f"{dtype.name}[{elements * width}]{':random' if parameter.const else ''}"
    dtype_of_number = dtypes.scalar(parameter.type)
    if dtype_of_number is None or dtype_of_number.kind in "iu":
        return str(elements)
    return "true" if dtype_of_number.kind == "b" else "1.5"


# --- the grammar -----------------------------------------------------------------------------------------------------


def _value(text: str) -> object:
    if text.startswith("@"):
        return _load(text[1:])
    if array := _ARRAY.fullmatch(text):
        return _array(text, *array.groups()) if array[1] else Untyped(text, *array.groups()[1:])
    if typed := _TYPED.fullmatch(text):
        return _scalar(_dtype(typed[1]), typed[2])
    return _number(text)


def _scalar(dtype: np.dtype, text: str) -> np.generic:
    try:
        return dtype.type(_number(text))
    except (OverflowError, TypeError, ValueError):
        raise LaunchError(f"{text} is not a value of type {dtype}.") from None


def _load(path: str) -> np.ndarray:
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise LaunchError(f"there is no file {path}.") from None
    except (OSError, ValueError, EOFError) as error:
        raise LaunchError(f"{path} cannot be read as a .npy file: {error}.") from None
    if not isinstance(array, np.ndarray):
        raise LaunchError(f"{path} holds several arrays; save the one you mean with numpy.save.")
    return array


def _array(text: str, dtype_name: str, shape_text: str, fill: str | None, parameter: str | None) -> np.ndarray:
    dtype = _dtype(dtype_name)
    try:
        shape = tuple(int(size) for size in shape_text.replace("_", "").split(",") if size.strip())
    except ValueError:
        shape = ()
    if not shape or min(shape) < 0:
        raise LaunchError(f"{text!r}: write the shape as whole numbers, such as {dtype_name}[1024] or [64,64].")
    make = _FILLS.get(fill or "zeros")
    if make is None:
        raise LaunchError(f"{text!r}: unknown fill {fill!r}; use {', '.join(_FILLS)}.")
    try:
        return make(shape, dtype, parameter)
    except (MemoryError, OverflowError):
        raise LaunchError(f"{text!r} does not fit in this machine's memory or in its dtype.") from None
    except ValueError as error:
        raise LaunchError(f"{text!r}: {error}.") from None


Fill = Callable[[tuple[int, ...], np.dtype, "str | None"], np.ndarray]


def _zeros(shape: tuple[int, ...], dtype: np.dtype, parameter: str | None) -> np.ndarray:
    return np.zeros(shape, dtype)


def _ones(shape: tuple[int, ...], dtype: np.dtype, parameter: str | None) -> np.ndarray:
    return np.ones(shape, dtype)


def _full(shape: tuple[int, ...], dtype: np.dtype, parameter: str | None) -> np.ndarray:
    return np.full(shape, _scalar(dtype, parameter or ""), dtype)


def _arange(shape: tuple[int, ...], dtype: np.dtype, parameter: str | None) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=np.int64)).astype(dtype).reshape(shape)


def _random(shape: tuple[int, ...], dtype: np.dtype, parameter: str | None) -> np.ndarray:
    """Floats from 0 to 1, integers from 0 to 99, fair bools; the seed is 0 if none is given."""
    seed = _number(parameter) if parameter else 0
    if not isinstance(seed, int) or seed < 0:
        raise ValueError("the seed of random(...) is a whole number from 0 up")
    generator = np.random.default_rng(seed)
    if dtype.kind in "iu":
        return generator.integers(0, _RANDOM_INTEGERS, shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "c":
        return (generator.random(shape) + 1j * generator.random(shape)).astype(dtype)
    return generator.random(shape).astype(dtype)


_FILLS: dict[str, Fill] = {"zeros": _zeros, "ones": _ones, "arange": _arange, "random": _random, "full": _full}


def _dtype(name: str) -> np.dtype:
    try:
        dtype = np.dtype({"int": "int64", "float": "float64", "complex": "complex128"}.get(name, name))
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in "biufc":
        raise LaunchError(f"{name!r} is not a number type; use one such as int32, int64, float32, float64 or bool.")
    return dtype


def _number(text: str) -> bool | int | float | complex:
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for convert in (lambda digits: int(digits, 0), float, complex):
        try:
            return convert(text)
        except ValueError:
            continue
    raise LaunchError(f"{text!r} is not a value; write a number, an array such as float32[1024]:ones, or @file.npy.")
