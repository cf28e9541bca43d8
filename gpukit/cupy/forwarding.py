"""NumPy's functions under CuPy's names: the same computation, with device arrays in and out."""

from __future__ import annotations

import functools
import types as python_types
from collections.abc import Callable
from typing import Any

from gpukit.cupy.arrays import device, host, is_host, mixed


def forward(function: Callable[..., Any], takes_host_arrays: bool = False) -> Callable[..., Any]:
    """A function of NumPy's as one of CuPy's. Arrays of the host are refused, as CuPy refuses them."""

    @functools.wraps(function, updated=())
    def forwarded(*args: Any, **kwargs: Any) -> Any:
        if not takes_host_arrays and any(is_host(value) and value.ndim for value in (*args, *kwargs.values())):
            raise mixed()
        result = function(*(host(a) for a in args), **{name: host(value) for name, value in kwargs.items()})
        out = kwargs.get("out")
        return device(result) if out is None else out

    return forwarded


def looks_up(module: python_types.ModuleType, takes_host_arrays: bool = False) -> Callable[[str], Any]:
    """A module's `__getattr__` that forwards what a module of NumPy has: functions wrapped, types and constants as they
    are."""

    def __getattr__(name: str) -> Any:
        if name.startswith("_") or not hasattr(module, name):
            raise AttributeError(f"the CPU machine's CuPy has no {name!r}")
        value = getattr(module, name)
        if callable(value) and not isinstance(value, type):
            return forward(value, takes_host_arrays)
        return value

    return __getattr__
