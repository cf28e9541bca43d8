"""What a kernel may call on scalars, looked up by canonical dotted name.

Names begin with the module they live in: "math.sqrt", "cmath.exp", "builtins.max", "operator.iadd", "cuda.popc",
"cuda.fp16.hadd", "cuda.libdevice.sinf", "cuda.random.xoroshiro128p_next", "numpy.hypot", "numba.float32".
The tables are in the modules `functions_*`, one for each theme.
"""

from __future__ import annotations

from gpukit.machine.frontends.python import (
    functions_cuda,
    functions_fp16,
    functions_libdevice,
    functions_math,
    functions_numpy,
    functions_random,
)
from gpukit.machine.frontends.python.functions_base import Function
from gpukit.machine.frontends.python.functions_libdevice import missing as missing_libdevice

__all__ = ["Function", "lookup", "missing_libdevice", "names"]

_THEMES = (functions_math, functions_cuda, functions_fp16, functions_libdevice, functions_numpy, functions_random)
_FUNCTIONS = {function.name: function for theme in _THEMES for function in theme.FUNCTIONS}


def lookup(name: str) -> Function | None:
    """The function of that dotted name; None when the kernel language has no such function on scalars."""
    return _FUNCTIONS.get(name)


def names() -> list[str]:
    """All names, in the order of the tables."""
    return list(_FUNCTIONS)
