"""NumPy's ufuncs on scalars, and the dtype constructors of numpy and numba."""

from __future__ import annotations

import numpy as np

from gpukit.machine.frontends.python import arithmetic, types
from gpukit.machine.frontends.python.functions.base import Function, typed
from gpukit.machine.frontends.python.functions.math import constructor
from gpukit.machine.frontends.python.types import Rule

_UFUNCS = """
    abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not bitwise_or
    bitwise_xor cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide divmod equal exp exp2 expm1 fabs
    float_power floor floor_divide fmax fmin fmod gcd greater greater_equal hypot invert isfinite isinf isnan lcm
    ldexp left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or
    logical_xor maximum minimum mod multiply negative nextafter not_equal positive power rad2deg radians reciprocal
    remainder right_shift rint sign signbit sin sinh spacing sqrt square subtract tan tanh true_divide trunc acos
    acosh asin asinh atan atan2 atanh bitwise_invert bitwise_left_shift bitwise_right_shift pow
"""

# NumPy raises for a negative exponent of an integer, and takes longer than need be to divide one.
_OWN = {"power": arithmetic.integer_power, "floor_divide": arithmetic.floor_divide, "remainder": arithmetic.modulo}

_LOOP_TYPES = frozenset("?bhilqBHILQfdFD")  # numba has no loop for float16 (it takes the float32 one) and longdouble


def _loop(ufunc: np.ufunc, args: tuple[np.dtype, ...]) -> Rule | None:
    """The first of the ufunc's loops that the arguments convert to safely.

    Beside a float or complex argument an integer converts to any float type, as in numba: int64 with float32 is
    float32.
    """
    kinds = {arg.kind for arg in args}
    mixed = bool(kinds & set("fc")) and bool(kinds & set("iu"))

    def converts(arg: np.dtype, operand: np.dtype) -> bool:
        lenient = mixed and arg.kind in "iu" and operand.kind in "fc"
        return np.can_cast(arg, operand, "same_kind" if lenient else "safe")

    for form in ufunc.types:
        inputs, outputs = form.split("->")
        if not _LOOP_TYPES.issuperset(inputs + outputs):
            continue
        operands = tuple(np.dtype(np.dtype(c).name) for c in inputs)
        results = tuple(np.dtype(np.dtype(c).name) for c in outputs)
        if all(map(converts, args, operands)):
            floating = all(t.kind in "fc" for t in results)
            own = _OWN.get(ufunc.__name__) if operands[0].kind in "iu" else None
            divides = own in (arithmetic.floor_divide, arithmetic.modulo)
            check = "float" if floating else "int_div" if divides else None
            return Rule(operands, results, own or ufunc, check)
    return None


def _ufunc(name: str, ufunc: np.ufunc) -> Function:
    arguments = ", ".join("xy"[: ufunc.nin])
    return typed(f"numpy.{name}", f"numpy.{name}({arguments})", lambda *args: _loop(ufunc, args), ufunc.nin)


_NUMPY_TYPES = """
    bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp uintp intc uintc byte ubyte short ushort
    longlong ulonglong int_ uint float16 float32 float64 half single double complex64 complex128 csingle cdouble
"""
_NUMBA_TYPES = """
    boolean bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp uintp intc uintc char uchar short ushort
    int_ uint long_ ulong longlong ulonglong size_t ssize_t float16 float32 float64 float_ double complex64
    complex128 b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16
"""


def _constructors() -> list[Function]:
    names = [("numpy", name) for name in _NUMPY_TYPES.split()] + [("numba", name) for name in _NUMBA_TYPES.split()]
    found = []
    for module, name in names:
        dtype = types.from_name(name, numpy=module == "numpy")
        assert dtype is not None
        found.append(constructor(f"{module}.{name}", dtype))
    return found


# A ufunc that this NumPy does not have yet is not offered.
FUNCTIONS: list[Function] = [
    *(_ufunc(name, getattr(np, name)) for name in _UFUNCS.split() if hasattr(np, name)),
    *_constructors(),
]
