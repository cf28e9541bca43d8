"""Arguments of CUDA C++ kernels: Python and NumPy values as the bytes and addresses their parameters take.

CuPy checks nothing: it hands over the bytes of whatever it is given. What would arrive as other bytes than the kernel
expects is refused here, in a sentence that says what to pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from gpukit.cpp import dtypes
from gpukit.cpp.signatures import Parameter
from gpukit.errors import LaunchError
from gpukit.machine.addresses import BOOK, owner_of
from gpukit.machine.frontends import ptx
from gpukit.machine.frontends.arguments import as_numpy
from gpukit.machine.frontends.ptx.syntax import TYPES, Variable


def fit(
    name: str,
    kernel: ptx.Kernel,
    parameters: Sequence[Parameter],
    args: Sequence[Any],
    file: str,
    line: int | None,
) -> tuple[list[Any], list[dict]]:
    """(what each parameter of the PTX gets, the arguments described for a report).

    `parameters` are those of the C++ source, empty where there is none; file and line are where the kernel stands.

    Raises LaunchError for a wrong number of arguments, and for one that does not fit its parameter.
    """
    compiled = kernel.function.parameters
    if len(args) != len(compiled):
        names = ", ".join(parameter.name or parameter.type for parameter in parameters)
        raise LaunchError(
            f"the kernel `{name}({names})` takes {len(compiled)} argument{'s' * (len(compiled) != 1)}, {len(args)} "
            f"{'was' if len(args) == 1 else 'were'} given",
            file=file,
            line=line,
        )
    given, described = [], []
    for i, (variable, value) in enumerate(zip(compiled, args, strict=True)):
        unknown = Parameter(f"parameter {i + 1}", f".{variable.type}", False, False)
        parameter = parameters[i] if i < len(parameters) else unknown
        one = _Argument(name, parameter, variable, i, (file, line))
        passed = one.fit(value)
        given.append(passed)
        described.append(_described(one.name, passed))
    return given, described


def address_of(array: np.ndarray) -> int:
    """The address that kernels know an array by, as a number that may be passed or stored in its place. 0 if empty."""
    return BOOK.address(array, "an array") if array.size else 0


class _Argument:
    """One parameter, and what is passed for it."""

    def __init__(
        self, kernel: str, parameter: Parameter, variable: Variable, position: int, place: tuple[str, int | None]
    ):
        self.kernel = kernel
        self.parameter = parameter
        self.variable = variable
        self.name = parameter.name or f"parameter {position + 1}"
        self.file, self.line = place

    def fit(self, value: Any) -> Any:
        """What the PTX parameter gets: an array, a NumPy scalar or structure of its size, None for a null pointer."""
        array = as_numpy(value)
        if self.parameter.pointer or (array is not None and self._may_point_to(array)):
            return self._pointer(value, array)
        if isinstance(value, int):
            array = None  # the address of an array, which a kernel may take as a number
        if array is not None and (array.size != 1 or type(value) is not np.ndarray):
            self._refuse(f"is an array of shape {array.shape}", "which is no pointer")
        if array is not None:
            value = array.reshape(())[()]  # as CuPy passes a NumPy array of one element
        dtype = self._dtype()
        if dtype is None or isinstance(value, np.void):
            return self._structure(value)
        return self._number(value, dtype)

    def _may_point_to(self, array: np.ndarray) -> bool:
        """Whether an array is passed by its address though the source does not say so: the parameter's type is hidden
        behind a name, or there is no source. CuPy passes an array of one structure by value."""
        is_value = array.dtype.fields is not None and array.size == 1
        return self.variable.nbytes == 8 and dtypes.scalar(self.parameter.type) is None and not is_value

    def _pointer(self, value: Any, array: np.ndarray | None) -> Any:
        if value is None:
            return None
        if array is None:
            if isinstance(value, int | np.integer) and not isinstance(value, bool):
                if value == 0:
                    return None
                if BOOK.find(int(value)) is not None:
                    return np.uint64(int(value))  # an address that device code, or `array.data.ptr`, gave
            self._refuse(f"is {_what(value)}", "pass an array" + (" itself" * isinstance(value, int)))
        self._check_elements(array)
        outside = array is not value or not array.flags.forc
        return ptx.Array(array, owner_of(array) if outside else None)

    def _check_elements(self, array: np.ndarray) -> None:
        """Elements of another size or kind than those the kernel reads are a mistake, but bytes may be taken for
        anything."""
        if not array.dtype.isnative:
            self._refuse(f"has foreign byte order ({array.dtype.str})", "use array.astype(dtype.newbyteorder('='))")
        pointed = dtypes.element(self.parameter.type)
        if pointed is None or array.dtype.fields is not None or array.dtype.itemsize == 1:
            return
        dtype, count = pointed
        have = array.dtype.itemsize
        pairs = array.dtype.kind == "c" and have in (2 * dtype.itemsize, count * dtype.itemsize)
        same = have == dtype.itemsize or pairs
        if not same and dtype.itemsize != 1:
            self._refuse(f"is an array of {array.dtype}", f"pass one of {dtype}")
        plain = dtypes.scalar(self.parameter.type.replace("*", " ").replace("const", " ").strip())
        if plain is not None and {plain.kind, array.dtype.kind} in ({"f", "i"}, {"f", "u"}):
            advice = f"pass array.astype(np.{plain}), or array.view(np.{plain}) if its bits are meant"
            self._refuse(f"is an array of {array.dtype}", advice)

    def _dtype(self) -> np.dtype | None:
        """The arithmetic type of the parameter: of the C++ source, else of the PTX; None for a structure."""
        known = dtypes.scalar(self.parameter.type)
        if known is not None and known.itemsize == self.variable.nbytes:
            return known
        if self.variable.count != 1:
            return None
        return TYPES[self.variable.type]

    def _number(self, value: Any, dtype: np.dtype) -> Any:
        if isinstance(value, int | np.integer | np.bool_) and dtype.kind in "iub":
            return self._integer(value, dtype)
        if isinstance(value, np.generic):
            # A type the compiler gives another name (a half, say, which is a structure) is taken by its size.
            if value.dtype == dtype or (value.nbytes == self.variable.nbytes and not self._is_plain(dtype)):
                return value
        elif isinstance(value, int | float | complex):
            natural = np.dtype(np.int64) if isinstance(value, int) else np.asarray(value).dtype
            if natural == dtype:
                return dtype.type(value)
            passed = {"i": "a long long", "f": "a double", "c": "a complex<double>"}[natural.kind]
            self._refuse(f"is {_what(value)}, which CuPy hands over as {passed}", f"pass np.{dtype.name}(...)")
        self._refuse(f"is {_what(value)}", f"pass np.{dtype.name}(...)")

    def _is_plain(self, dtype: np.dtype) -> bool:
        """Whether the C++ source says that the parameter is of this arithmetic type."""
        return dtypes.scalar(self.parameter.type) == dtype

    def _integer(self, value: Any, dtype: np.dtype) -> Any:
        """An integer for an integer parameter. The bytes handed over must reach as far as the parameter does."""
        number = int(value)
        if isinstance(value, np.generic) and value.nbytes < dtype.itemsize:
            self._refuse(f"is {_what(value)}, of {value.nbytes} bytes", f"pass np.{dtype.name}(...)")
        if dtype.kind == "b":
            return np.bool_(number != 0)
        limits = np.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            self._refuse(f"is {number:,}", f"which holds {limits.min:,} to {limits.max:,}")
        return dtype.type(number)

    def _structure(self, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, np.generic):
            size = self.variable.nbytes
            self._refuse(f"is {_what(value)}", f"pass a NumPy structure (np.void) of its {size} bytes")
        if isinstance(value, np.void) and not value.dtype.isnative:
            self._refuse("has foreign byte order", "use value.astype(dtype.newbyteorder('='))")
        if value.nbytes != self.variable.nbytes:
            self._refuse(f"has {value.nbytes} bytes", f"which has {self.variable.nbytes}")
        return value

    def _refuse(self, got: str, advice: str) -> NoReturn:
        joint = " " if advice.startswith("which") else ": "
        raise LaunchError(
            f"the argument `{self.name}` of `{self.kernel}` {got}; the parameter is of type {self.parameter.type}"
            f"{',' if joint == ' ' else ''}{joint}{advice}",
            file=self.file,
            line=self.line,
        )


def _what(value: Any) -> str:
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}({value})" if value.dtype.fields is None else "a structure"
    if isinstance(value, bool | int | float | complex):
        return f"the Python {type(value).__name__} {value!r}"
    return "None" if value is None else f"a {type(value).__name__}"


def _described(name: str, passed: Any) -> dict:
    if isinstance(passed, ptx.Array):
        return {"name": name, "kind": "array", "dtype": str(passed.view.dtype), "shape": passed.view.shape}
    if passed is None:
        return {"name": name, "kind": "none", "dtype": "", "shape": ()}
    kind = "record" if isinstance(passed, np.void) else "scalar"
    return {"name": name, "kind": kind, "dtype": str(passed.dtype), "shape": ()}
