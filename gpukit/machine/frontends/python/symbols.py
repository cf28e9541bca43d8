"""The names a kernel may use from outside: what the machine calls each of them.

Whatever way a kernel spells it (`from numba import cuda`, `import numba.cuda as nc`, `from numba.cuda import atomic`,
`from numba_cuda_mlir import cuda`, `from gpukit import cuda`), the canonical dotted name is one: "cuda.atomic.add".
"""

from __future__ import annotations

import sys
import types as python_types
from dataclasses import dataclass

import numpy as np

# Packages whose names are the machine's own vocabulary, and the canonical name of each.
PACKAGES = {
    "numba.cuda": "cuda",
    "numba_cuda.numba.cuda": "cuda",
    "numba_cuda_mlir.cuda": "cuda",
    "numba_cuda_mlir.numba_cuda": "cuda",
    "gpukit.cuda": "cuda",
    "numba.cuda.simulator.api": "cuda",
    "numba.cuda.simulator": "cuda",
    "numba.types": "numba",
    "numba.core.types": "numba",
    "numba_cuda_mlir.types": "numba",
    "numba.extending": "numba",
    "numba_cuda_mlir": "numba",
    "cuda.types": "numba",
    "cuda.np": "numba.np",
    "_operator": "operator",
    "numpy.core": "numpy",
    "numpy._core": "numpy",
}
ROOTS = ("numba", "numba_cuda_mlir", "numba_cuda", "numpy", "math", "cmath", "operator", "gpukit", "_operator", "cuda")


@dataclass(frozen=True, slots=True)
class Name:
    """A module, function, class or constant of the vocabulary, by its canonical dotted name."""

    dotted: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something outside the vocabulary: an error only if the kernel uses it. `what` completes "it is ..."."""

    what: str


class Namespace:
    """A module of the user's that was loaded from its file."""

    __name__: str

    def lookup(self, name: str) -> object:
        """What the module calls `name`; KeyError if nothing."""
        raise NotImplementedError


def canonical(dotted: str) -> str:
    """One spelling for every name: longest known package prefix first, then again until nothing changes."""
    while True:
        for package in sorted(PACKAGES, key=len, reverse=True):
            if dotted == package or dotted.startswith(package + "."):
                new = PACKAGES[package] + dotted[len(package) :]
                break
        else:
            return dotted
        if new == dotted:
            return dotted
        dotted = new


def belongs(dotted: str) -> bool:
    """Whether a module path is part of the vocabulary."""
    return dotted.split(".")[0] in ROOTS


def of_module(module: python_types.ModuleType) -> Name | None:
    name = module.__name__
    return Name(canonical(name)) if belongs(name) else None


def of_object(value: object) -> Name | None:
    """The canonical name of a function, class or stub of the vocabulary that a program holds by itself."""
    explicit = getattr(value, "__gpukit_name__", None) if belongs(type(value).__module__ or "") else None
    if isinstance(explicit, str):
        return Name(canonical(explicit))
    if isinstance(value, np.ufunc):
        return Name(f"numpy.{value.__name__}")
    found = _exported().get(id(value))
    if found is not None:
        return Name(found)
    module = getattr(value, "__module__", None)
    if isinstance(value, python_types.BuiltinFunctionType):
        return Name(canonical(f"{module}.{value.__name__}")) if module in (*ROOTS, "builtins") else None
    if isinstance(value, type) and isinstance(module, str):
        if module == "builtins":
            return Name(f"builtins.{value.__name__}")
        if belongs(module) and not module.startswith("gpukit."):
            # numba's stubs are nested classes in a module of their own: `stubs.atomic.add`
            return Name(canonical(f"{module}.{value.__qualname__}".replace(".stubs.", ".")))
    if isinstance(value, python_types.FunctionType) or hasattr(value, "py_func"):
        return None  # Python code, whosoever: it can be read
    if callable(value) and isinstance(module, str) and module.split(".")[0] in ("numpy", "numba", "numba_cuda"):
        name = getattr(value, "__name__", None)
        return Name(canonical(f"{module}.{name}")) if isinstance(name, str) else None
    return None


_EXPORTERS = ("numba.cuda", "numba_cuda_mlir.cuda", "gpukit.cuda", "numba")
_exports: dict[int, str] = {}
_scanned: dict[str, int] = {}


def _exported() -> dict[int, str]:
    """Identity of what the loaded CUDA packages export -> canonical name."""
    for package in _EXPORTERS:
        for module_name in (package, f"{package}.cg", f"{package}.random", f"{package}.libdevice", f"{package}.fp16"):
            module = sys.modules.get(module_name)
            if module is None or _scanned.get(module_name) == id(module):
                continue
            _scanned[module_name] = id(module)
            prefix = canonical(module_name)
            for name, value in list(vars(module).items()):
                if name.startswith("_") or value is None or isinstance(value, python_types.ModuleType | str | int):
                    continue
                _exports.setdefault(id(value), f"{prefix}.{name}")
    return _exports
