"""What a kernel may call on scalars, looked up by canonical dotted name.

Names begin with the module they live in: "math.sqrt", "cmath.exp", "builtins.max", "operator.iadd", "cuda.popc",
"cuda.fp16.hadd", "cuda.libdevice.sinf", "cuda.random.xoroshiro128p_next", "numpy.hypot", "numba.float32".
The tables are in the modules of this package, one for each theme.
"""

from __future__ import annotations

from gpukit.machine.frontends.python.functions import cuda, fp16, libdevice, math, numpy, random
from gpukit.machine.frontends.python.functions.base import Function
from gpukit.machine.frontends.python.functions.libdevice import missing as missing_libdevice

__all__ = ["Function", "lookup", "missing_libdevice", "names"]

_THEMES = (math, cuda, fp16, libdevice, numpy, random)
_FUNCTIONS = {function.name: function for theme in _THEMES for function in theme.FUNCTIONS}


def lookup(name: str) -> Function | None:
    """The function of that dotted name; None when the kernel language has no such function on scalars."""
    return _FUNCTIONS.get(name)


def names() -> list[str]:
    """All names, in the order of the tables."""
    return list(_FUNCTIONS)
