"""What numba-cuda's tests import besides the facade: their own support module, and names of the compiler.

The names of the compiler are there so that the modules can be imported; a test that uses one fails.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types as python_types
from pathlib import Path
from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.cuda import config, stubs, testing, types
from gpukit.cuda.errors import RefusedError

TESTS = "numba_cuda_tests"


class _CompilerName:
    """Stands for a function, class or decorator of the compiler; using it is refused."""

    def __init__(self, name: str):
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RefusedError(f"{self._name} is a part of numba-cuda's compiler")


class _CompilerModule(python_types.ModuleType):
    """A module of the compiler, with any name one asks for."""

    def __init__(self, name: str, **values: Any):
        super().__init__(name)
        self.__path__: list[str] = []
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _CompilerName(f"{self.__name__}.{name}")


class _CompilerFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module of numba.cuda that the facade has nothing for, and the tests under their name here."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith("numba.cuda."):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> python_types.ModuleType:
        if spec.name.startswith("numba.cuda.tests."):
            return importlib.import_module(spec.name.replace("numba.cuda.tests", TESTS, 1))
        return _CompilerModule(spec.name)

    def exec_module(self, module: python_types.ModuleType) -> None:
        """It is complete."""


class _LinkedSource:
    """Compiled code that a module names when it is imported; linking it is refused where it is used."""

    def __init__(self, *args: Any, **kwargs: Any):
        self.args = args


class _Registry(_CompilerName):
    """A decorator factory that registers nothing: what it decorates is never used by the machine."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return lambda decorated: decorated

    register = __call__


class _AllocationStats:
    """numba's counts of live allocations, for tests that look for leaks: nothing is allocated by kernels here."""

    alloc = free = mi_alloc = mi_free = 0


class _Rtsys:
    def memsys_enable_stats(self) -> None:
        """No counters to switch on."""

    memsys_disable_stats = memsys_enable_stats

    def get_allocation_stats(self) -> _AllocationStats:
        return _AllocationStats()


_EXTENDING = ("typeof_impl", "register_model", "overload", "overload_method", "overload_attribute")


def install() -> None:
    """Fill sys.modules for the test modules. Call inside `stand_in()`."""
    spec = importlib.util.find_spec("numba_cuda")
    assert spec is not None and spec.submodule_search_locations is not None, "numba-cuda is not installed"
    location = spec.submodule_search_locations[0]
    tests = python_types.ModuleType("numba.cuda.tests")
    tests.__path__ = [str(Path(location) / "numba" / "cuda" / "tests")]
    tests.load_testsuite = None  # type: ignore[attr-defined]
    sys.modules["numba.cuda.tests"] = tests
    # Under a name outside numba, so that the modules' own functions are a user's functions.
    users = python_types.ModuleType(TESTS)
    users.__path__ = tests.__path__
    sys.modules[TESTS] = users
    sys.meta_path.insert(0, _CompilerFinder())
    registry = _Registry("registry")
    vector_types = {
        name: python_types.SimpleNamespace(
            name=name,
            base_type=types.SCALARS[vector.base],
            num_elements=vector.num_elements,
            user_facing_object=vector,
            aliases=vector.aliases,
        )
        for name, vector in stubs.VECTOR_TYPES.items()
        if name == vector.__name__
    }
    numpy_version = tuple(int(part) for part in np.__version__.split(".")[:2])
    for name, values in {
        "compiler": {"compile_ptx": cuda.compile_ptx, "compile": cuda.compile},
        "core.pythonapi": {"unbox": registry, "box": registry},
        "cudadecl": {"registry": registry},
        "cudaimpl": {"lower": registry, "lower_attr": registry},
        "extending": dict.fromkeys(_EXTENDING, registry)
        | {"models": _CompilerModule("models", StructModel=object), "NativeValue": object},
        "memory_management": {"rtsys": _Rtsys()},
        "cgutils": {},
        "memory_management.nrt": {"rtsys": _Rtsys()},
        "typing": {"signature": types.signature, "cffi_utils": _CompilerModule("cffi_utils", SUPPORTED=False)},
        "typing.typeof": {"typeof": types.typeof},
        "np.numpy_support": {**vars(types), "numpy_version": numpy_version},
        "utils": {"PYVERSION": sys.version_info[:2]},
        "vector_types": {"vector_types": vector_types},
        "simulator.vector_types": {"vector_types": vector_types},
    }.items():
        module = sys.modules[f"numba.cuda.{name}"] = _CompilerModule(f"numba.cuda.{name}", **values)
        package, _, leaf = name.rpartition(".")
        if package:
            setattr(importlib.import_module(f"numba.cuda.{package}"), leaf, module)
        elif not hasattr(cuda, leaf):
            setattr(cuda, leaf, module)
    for source in ("CUSource", "PTXSource", "Cubin", "Fatbin", "Object", "Archive", "LTOIR"):
        setattr(cuda, source, _LinkedSource)
    # The conditions the yardstick was taken under: tests look into no assembly, and a few are smaller.
    config.ENABLE_CUDASIM = 1
    sys.modules["numba.cuda.cudadrv.driver"]._have_nvjitlink = lambda: False  # type: ignore[attr-defined]
    support: Any = importlib.import_module("numba.cuda.tests.support")

    class CUDATestCase(testing.CUDATestCase, support.TestCase):
        """The facade's test case with the assertions of numba-cuda's."""

    shown = python_types.ModuleType("numba.cuda.testing")
    shown.__dict__.update({name: value for name, value in vars(testing).items() if not name.startswith("_")})
    shown.CUDATestCase = CUDATestCase  # type: ignore[attr-defined]
    shown.test_data_dir = Path(tests.__path__[0]) / "data"  # type: ignore[attr-defined]
    shown.unittest = testing.unittest  # type: ignore[attr-defined]
    sys.modules["numba.cuda.testing"] = shown
