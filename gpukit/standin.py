"""Standing in for numba.cuda and CuPy: `with stand_in():` makes `numba.cuda` and `numba_cuda_mlir.cuda` mean the
facade, and `cupy` and `cupyx` gpukit's own, until the block ends, whatever is installed."""

from __future__ import annotations
import __future__

import builtins
import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import linecache
import operator
import os
import sys
import types as python_types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Modules of numba.cuda that programs import, and what takes their place: a module of the facade, or "" for a
# package that only holds others.
_STANDINS = {
    "": "gpukit.cuda",
    ".api": "gpukit.cuda",
    ".args": "gpukit.cuda.args",
    ".cg": "gpukit.cuda.cg",
    ".core": "",
    ".core.config": "gpukit.cuda.config",
    ".core.errors": "gpukit.cuda.errors",
    ".cudadrv": "gpukit.cuda.cudadrv",
    ".cudadrv.devicearray": "gpukit.cuda.devicearray",
    ".cudadrv.devices": "gpukit.cuda.device",
    ".cudadrv.driver": "gpukit.cuda.cudadrv.driver",
    ".cudadrv.error": "gpukit.cuda.errors",
    ".cudadrv.runtime": "gpukit.cuda.cudadrv.runtime",
    ".decorators": "gpukit.cuda.dispatcher",
    ".dispatcher": "gpukit.cuda.dispatcher",
    ".errors": "gpukit.cuda.errors",
    ".kernels": "gpukit.cuda.kernels",
    ".kernels.reduction": "gpukit.cuda.kernels.reduction",
    ".kernels.transpose": "gpukit.cuda.kernels.transpose",
    ".libdevice": "gpukit.cuda.libdevice",
    ".misc": "",
    ".misc.special": "gpukit.cuda",
    ".np": "",
    ".np.numpy_support": "gpukit.cuda.types",
    ".random": "gpukit.cuda.random",
    ".stubs": "gpukit.cuda",
    ".testing": "gpukit.cuda.testing",
    ".types": "gpukit.cuda.types",
    ".typing": "gpukit.cuda.types",
    ".typing.typeof": "gpukit.cuda.types",
    ".vectorizers": "gpukit.cuda.ufuncs",
}
# Parts of numba itself that programs import, where numba is not installed.
_SUBSTITUTES = {
    ".core": "",
    ".core.errors": "gpukit.cuda.errors",
    ".core.types": "gpukit.cuda.types",
    ".np": "",
    ".np.numpy_support": "gpukit.cuda.types",
    ".types": "gpukit.cuda.types",
}
_CUPY = {
    "": "gpukit.cupy",
    ".cuda": "gpukit.cupy.cuda",
    ".cuda.nvtx": "gpukit.cupy.cuda.nvtx",
    ".cuda.profiler": "gpukit.cupy.cuda.profiler",
    ".cuda.runtime": "gpukit.cupy.cuda.runtime",
    ".fft": "gpukit.cupy.fft",
    ".linalg": "gpukit.cupy.linalg",
    ".random": "gpukit.cupy.random",
    ".testing": "gpukit.cupy.testing",
}
_CUPYX = {"": "gpukit.cupyx", ".profiler": "gpukit.cupyx.profiler"}
_ROOTS = ("numba.cuda", "numba_cuda_mlir.cuda")
_CUPY_ROOTS = ("cupy", "cupyx")
_PARENTS = ("numba", "numba_cuda_mlir")


class _Guard(importlib.abc.MetaPathFinder):
    """Watches imports: gives a freshly imported numba its `cuda`, and refuses what numba.cuda and CuPy lack here."""

    def __init__(self, facade: python_types.ModuleType):
        self._facade = facade
        self._busy = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.startswith(tuple(root + "." for root in _ROOTS)):
            parent = sys.modules.get(name.rpartition(".")[0])
            if getattr(parent, "__file__", "").startswith(os.path.dirname(__file__)) or parent is self._facade:
                raise ModuleNotFoundError(
                    f"{name} is a part of numba-cuda's compiler or driver, which the CPU machine does not have",
                    name=name,
                )
            return None
        if name.startswith(tuple(root + "." for root in _CUPY_ROOTS)):
            raise ModuleNotFoundError(
                f"{name} is a part of CuPy that the CPU machine does not have: use NumPy or SciPy for it", name=name
            )
        if name != "numba" or self._busy:
            return None
        self._busy = True
        try:
            spec = importlib.util.find_spec("numba")
        except (ModuleNotFoundError, ValueError):
            spec = None
        finally:
            self._busy = False
        if spec is None or spec.loader is None:
            return importlib.machinery.ModuleSpec("numba", _Substitute(self._facade), is_package=True)
        spec.loader = _Attach(spec.loader, self._facade)
        return spec


class _Attach(importlib.abc.Loader):
    """Loads the real numba, then sets its `cuda`."""

    def __init__(self, loader: importlib.abc.Loader, facade: python_types.ModuleType):
        self._loader = loader
        self._facade = facade

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> python_types.ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: python_types.ModuleType) -> None:
        self._loader.exec_module(module)
        module.cuda = self._facade  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Substitute(importlib.abc.Loader):
    """What `import numba` gives where numba is not installed: types, and decorators that change nothing."""

    def __init__(self, facade: python_types.ModuleType):
        self._facade = facade

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: python_types.ModuleType) -> None:
        from gpukit.cuda import without_numba

        module.__path__ = []
        module.__dict__.update({name: getattr(without_numba, name) for name in without_numba.__all__})
        module.cuda = self._facade  # type: ignore[attr-defined]
        _install("numba", _SUBSTITUTES)


@contextlib.contextmanager
def stand_in() -> Iterator[python_types.ModuleType]:
    """The facade in place of `numba.cuda` and `numba_cuda_mlir.cuda`, and gpukit's CuPy in place of `cupy` and `cupyx`,
    for the duration; yields the facade.

    Modules that were there before come back afterwards; modules imported inside keep the facade they were given.
    """
    facade = importlib.import_module("gpukit.cuda")
    before = _exchange({})
    had_numba = sys.modules.get("numba")
    numba_cuda = vars(had_numba).get("cuda", _missing) if had_numba else _missing
    for root in _ROOTS:
        _install(root, _STANDINS)
    _install("cupy", _CUPY)
    _install("cupyx", _CUPYX)
    mlir = _package("numba_cuda_mlir")
    mlir.cuda, mlir.types = facade, facade.types  # type: ignore[attr-defined]
    sys.modules["numba_cuda_mlir"] = mlir
    sys.modules["numba_cuda_mlir.types"] = facade.types
    if had_numba:
        had_numba.cuda = facade  # type: ignore[attr-defined]
    guard = _Guard(facade)
    sys.meta_path.insert(0, guard)
    builtins.exec = _exec_keeping_source
    active = _Active(guard, before)
    _active.append(active)
    try:
        yield facade
    finally:
        _active.remove(active)
        builtins.exec = _exec
        sys.meta_path.remove(guard)
        _exchange(active.before)
        numba = sys.modules.get("numba")
        if numba is not None and isinstance(getattr(numba.__spec__, "loader", None), _Substitute):
            for name in ("numba", *("numba" + suffix for suffix in _SUBSTITUTES)):
                del sys.modules[name]
        elif numba is not None and numba is had_numba and numba_cuda is not _missing:
            numba.cuda = numba_cuda  # type: ignore[attr-defined]
        elif numba is not None and vars(numba).get("cuda") is facade:
            del numba.cuda


@contextlib.contextmanager
def real_numba_cuda() -> Iterator[None]:
    """numba.cuda itself for the duration, inside `stand_in` too: its compiler imports parts of itself as it works."""
    active = _active[-1] if _active else None
    if active is None or active.aside:
        yield
        return
    numba = sys.modules.get("numba")
    shown = vars(numba).get("cuda", _missing) if numba is not None else _missing
    facade = _exchange(active.before)
    if numba is not None and "numba.cuda" in active.before:
        numba.cuda = active.before["numba.cuda"]  # type: ignore[attr-defined]
    elif shown is not _missing:
        # `import numba.cuda.types as types`, which numba-cuda does on its first import, asks the package before it
        # asks sys.modules.
        del numba.cuda  # type: ignore[union-attr]
    sys.meta_path.remove(active.guard)
    active.aside = True
    try:
        yield
    finally:
        active.aside = False
        sys.meta_path.insert(0, active.guard)
        active.before = _exchange(facade)
        numba = sys.modules.get("numba")
        if numba is not None and shown is not _missing:
            numba.cuda = shown  # type: ignore[attr-defined]


@dataclass(slots=True)
class _Active:
    """A stand-in that is in place: its guard, and the modules it put aside. `aside`: they are back for a while."""

    guard: _Guard
    before: dict[str, python_types.ModuleType]
    aside: bool = False


_active: list[_Active] = []
_missing = object()
_exec = builtins.exec
_exec_serial = itertools.count(1)


def _exec_keeping_source(source: Any, globals: Any = None, locals: Any = None, /, **options: Any) -> None:
    """`exec` that lets `inspect` find the source of functions it defines: kernels are made of source, and programs
    that generate kernels do it with exec."""
    if isinstance(source, str):
        caller = sys._getframe(1)
        if globals is None:
            globals = caller.f_globals
            locals = caller.f_locals if locals is None else locals
        filename = f"<exec {next(_exec_serial)}>"
        if "def " in source or "lambda" in source:
            linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        source = compile(source, filename, "exec", caller.f_code.co_flags & _FUTURE_FLAGS, dont_inherit=True)
    _exec(source, globals, locals, **options)


_FUTURE_FLAGS = functools.reduce(
    operator.or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names)
)


def _install(root: str, modules: dict[str, str]) -> None:
    """Make every `root + suffix` mean a module of the facade, and a name in the package that holds it."""
    for suffix, target in modules.items():
        name = root + suffix
        module = sys.modules[name] = importlib.import_module(target) if target else _package(name)
        parent, _, leaf = name.rpartition(".")
        if suffix and sys.modules[parent].__name__ == parent:
            setattr(sys.modules[parent], leaf, module)


def _exchange(modules: dict[str, python_types.ModuleType]) -> dict[str, python_types.ModuleType]:
    """Put these modules in the place of those that stand-ins replace; returns what was there."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_replaced(name)}
    sys.modules.update(modules)
    return before


def _is_replaced(name: str) -> bool:
    return name in (*_ROOTS, *_CUPY_ROOTS, "numba_cuda_mlir") or name.startswith(
        ("numba.cuda.", "numba_cuda_mlir.", "cupy.", "cupyx.")
    )


def _package(name: str) -> python_types.ModuleType:
    module = python_types.ModuleType(name, "Holds stand-ins of gpukit.")
    module.__path__ = []
    return module
