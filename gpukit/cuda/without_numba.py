"""What a script finds under the name `numba` where numba is not installed.

The types are the facade's. `jit` and `njit` leave a function as plain Python: right results, without numba's speed,
and kernels may call it as a device function.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from gpukit.cuda import errors, types
from gpukit.cuda.errors import RefusedError
from gpukit.cuda.types import SCALAR_NAMES, from_dtype, none, typeof, void
from gpukit.cuda.ufuncs import guvectorize, vectorize

prange = range
__version__ = "0"


@functools.cache
def _say_once(decorator: str) -> None:
    print(f"gpukit: numba is not installed, so @{decorator} functions run as plain Python", file=sys.stderr)


def _decorator(name: str) -> Callable:
    def decorate(*args: Any, **options: Any) -> Any:
        _say_once(name)
        if len(args) == 1 and not options and callable(args[0]) and not isinstance(args[0], types.Type):
            return args[0]
        return lambda function: function

    decorate.__name__ = name
    return decorate


jit, njit = _decorator("jit"), _decorator("njit")


def _refuse(name: str) -> Callable:
    def refuse(*args: Any, **options: Any) -> Any:
        raise RefusedError(f"numba.{name} needs numba itself: pip install numba")

    return refuse


cfunc, stencil, generated_jit = _refuse("cfunc"), _refuse("stencil"), _refuse("generated_jit")


globals().update({name: value for name, value in SCALAR_NAMES.items() if not name.startswith("_")})

__all__ = [
    "__version__",
    "cfunc",
    "errors",
    "from_dtype",
    "generated_jit",
    "guvectorize",
    "jit",
    "njit",
    "none",
    "prange",
    "stencil",
    "typeof",
    "types",
    "vectorize",
    "void",
    *SCALAR_NAMES,
]
