"""A kernel as numba-cuda's compiler takes it: a live function whose global names mean numba.cuda itself.

A kernel may have been written against gpukit's facade, in a script where the facade stands in for numba.cuda, or may
come from a file that was never executed. Its code stays as it is; the names in it are given numba's meaning. Making the
function executes nothing of the user's.
"""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
import types as python_types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpukit.errors import UnsupportedFeature
from gpukit.machine.frontends.python import source as sources
from gpukit.machine.frontends.python import symbols
from gpukit.machine.frontends.python.source import DeviceArray, Source
from gpukit.machine.frontends.python.symbols import Name, Namespace, Unknown

_live: weakref.WeakKeyDictionary[python_types.FunctionType, python_types.FunctionType] = weakref.WeakKeyDictionary()
_read: weakref.WeakKeyDictionary[Source, python_types.FunctionType] = weakref.WeakKeyDictionary()

# Options of a kernel or device function that change what the compiler makes of it.
_OPTIONS = ("fastmath", "opt", "debug", "inline", "forceinline", "launch_bounds")


def function_of(kernel: Any) -> python_types.FunctionType:
    """The function to compile, the same one every time. Call while the real numba.cuda is in place.

    Raises KernelTypeError for what is no kernel, UnsupportedFeature for a name that has no meaning to the compiler.
    """
    if isinstance(kernel, Source):
        if kernel not in _read:
            _read[kernel] = _Names().of_source(kernel)
        return _read[kernel]
    function = _python_function(kernel)
    if function is None:
        function = _python_function(sources.of(kernel))  # raises: it is no kernel
    assert function is not None
    if function not in _live:
        _live[function] = _Names().of_function(function)
    return _live[function]


def options_of(kernel: Any) -> dict[str, Any]:
    """The options a kernel was declared with that matter to the compiler.

    Raises UnsupportedFeature for a kernel that links compiled code.
    """
    options = getattr(getattr(kernel, "dispatcher", kernel), "targetoptions", None)
    if not isinstance(options, dict):
        return {}
    if options.get("link"):
        raise UnsupportedFeature(
            "the kernel links compiled code (link=...), which the compiled level does not have: write the function in "
            "Python"
        )
    return {name: options[name] for name in _OPTIONS if options.get(name) is not None}


def _python_function(kernel: Any) -> python_types.FunctionType | None:
    inner = getattr(kernel, "dispatcher", kernel)
    function = getattr(inner, "py_func", inner)
    return function if isinstance(function, python_types.FunctionType) else None


class _Names:
    """Gives names numba's meaning, for one kernel and all it calls. Each function is made once: recursion ends."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        self._kept: list[Any] = []  # what `_made` names by id

    # --- functions ---------------------------------------------------------------------------------------------------

    def of_function(self, function: python_types.FunctionType) -> python_types.FunctionType:
        """A copy of a live function."""
        made = self._copy(function)
        self._fill_copy(made, function)
        return made

    def _copy(self, function: python_types.FunctionType) -> python_types.FunctionType:
        """The same code with globals and cells of its own, which are still to be filled in."""
        closure = tuple(python_types.CellType() for _ in function.__closure__ or ())
        # Only the names it uses: with all of them it would keep the original alive, which they lead to.
        used = {*_names(function.__code__), "__name__", "__builtins__"}
        namespace = {name: value for name, value in function.__globals__.items() if name in used}
        made = python_types.FunctionType(
            function.__code__, namespace, function.__name__, function.__defaults__, closure
        )
        made.__kwdefaults__ = function.__kwdefaults__
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        return made

    def _fill_copy(self, made: python_types.FunctionType, function: python_types.FunctionType) -> None:
        names = made.__globals__
        for name in _names(function.__code__):
            if name in names:
                names[name] = self.live(names[name])
        for new, old in zip(made.__closure__ or (), function.__closure__ or (), strict=True):
            if _is_filled(old):
                new.cell_contents = self.live(old.cell_contents)

    def _device_dispatcher(self, dispatcher: Any) -> Any:
        """numba's device function for a live one, of numba or of the facade, with line information."""
        function = dispatcher.py_func
        made = self._copy(function)
        # Known before its own names are: a recursive function names itself.
        self._keep(dispatcher, _device(made, options_of(dispatcher)))
        self._fill_copy(made, function)
        return self._made[id(dispatcher)]

    def of_source(self, source: Source) -> python_types.FunctionType:
        """A function that was read from a file."""
        namespace: dict[str, Any] = {"__name__": source.name, "__builtins__": builtins}
        made = self._define(source, namespace)
        self._fill(namespace, source, made)
        return made

    def _define(self, source: Source, namespace: dict[str, Any]) -> python_types.FunctionType:
        """The function of a source; its names are still to be filled in."""
        tree = copy.deepcopy(source.tree)
        tree.decorator_list, tree.returns = [], None
        arguments = tree.args
        starred = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred):
            argument.annotation = None
        arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
        if tree.name == "<lambda>":
            tree.name = "lambda_"
        code = compile(ast.Module([tree], []), source.file, "exec", dont_inherit=True)
        body = next(c for c in code.co_consts if isinstance(c, python_types.CodeType))
        defaults = tuple(self.real(value) for value in source.defaults) or None
        return python_types.FunctionType(body, namespace, source.name, defaults)

    def _fill(self, namespace: dict[str, Any], source: Source, function: python_types.FunctionType) -> None:
        for name in _names(function.__code__):
            if name in namespace:
                continue
            try:
                value = sources.materialise(source.resolve(name))
            except KeyError:
                continue
            if not isinstance(value, Unknown):
                namespace[name] = self.real(value)

    def _device_source(self, source: Source) -> Any:
        """numba's device function for one that was read from a file."""
        if id(source) not in self._made:
            namespace: dict[str, Any] = {"__name__": source.name, "__builtins__": builtins}
            function = self._define(source, namespace)
            self._keep(source, _device(function, {}))
            self._fill(namespace, source, function)
        return self._made[id(source)]

    def _keep(self, original: Any, made: Any) -> None:
        self._made[id(original)] = made
        self._kept.append(original)

    # --- values ------------------------------------------------------------------------------------------------------

    def live(self, value: Any) -> Any:
        """What a live value should be: itself, unless it is of gpukit's or leads there."""
        if id(value) in self._made:
            return self._made[id(value)]
        if isinstance(value, python_types.ModuleType):
            return self._module(value)
        if isinstance(value, tuple) and type(value) is tuple:
            items = tuple(self.live(item) for item in value)
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        if _is_device_function(value):
            return self._device_dispatcher(value)
        if _is_ours(type(value).__module__ or "") or _is_ours(getattr(value, "__module__", None) or ""):
            return self.real(sources.materialise(sources.meaning(value)))
        return value

    def _module(self, module: python_types.ModuleType) -> Any:
        name = symbols.of_module(module) if _is_ours(module.__name__) else None
        if name is not None and not _is_ours(name.dotted):  # the facade, which stands for numba.cuda
            return self.real(name)
        if name is None and symbols.belongs(module.__name__):
            return module
        if not any(self._is_changed(v) for v in list(vars(module).values())):
            return module
        stand_in = python_types.ModuleType(module.__name__)
        self._keep(module, stand_in)
        vars(stand_in).update({n: self.live(v) for n, v in vars(module).items() if not n.startswith("__")})
        return stand_in

    def _is_changed(self, value: Any) -> bool:
        return _is_device_function(value) or _is_ours(type(value).__module__ or "")

    def real(self, value: Any) -> Any:
        """What a value of the front end is to numba."""
        if isinstance(value, Source):
            return self._device_source(value)
        if isinstance(value, Name):
            found = _named(value.dotted)
            # gpukit's own device functions, such as those of gpukit.warp, and the modules that hold them.
            return self.live(found) if _is_ours(value.dotted) else found
        if isinstance(value, np.dtype):
            return value if value.fields else value.type
        if isinstance(value, Namespace):
            return self._namespace(value)
        if isinstance(value, DeviceArray):
            raise UnsupportedFeature(
                "the kernel names a device array as a global, whose place on a GPU the compiler would need: pass it as "
                "an argument"
            )
        if isinstance(value, Unknown):
            raise UnsupportedFeature(f"the kernel uses {value.what}, which numba-cuda's compiler does not know")
        if isinstance(value, tuple):
            kind: Any = type(value)
            items = [self.real(sources.materialise(item)) for item in value]
            return kind(*items) if hasattr(value, "_fields") else tuple(items)
        return value

    def _namespace(self, namespace: Namespace) -> Any:
        if id(namespace) not in self._made:
            self._keep(namespace, _Loaded(namespace, self))
        return self._made[id(namespace)]


class _Loaded(python_types.ModuleType):
    """A module of the user's that was loaded without being executed; names are looked up when they are used."""

    def __init__(self, namespace: Namespace, names: _Names):
        super().__init__(getattr(namespace, "__name__", "module"))
        self.__dict__["_look_up"] = lambda name: names.real(sources.materialise(namespace.lookup(name)))

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_look_up"](name)
        except KeyError:
            raise AttributeError(name) from None


def _device(function: python_types.FunctionType, options: dict[str, Any]) -> Any:
    """A device function of numba's, compiled when it is first called."""
    return _cuda().jit(device=True, lineinfo=not options.get("debug"), **options)(function)


def _is_device_function(value: Any) -> bool:
    options = getattr(value, "targetoptions", None)
    return isinstance(options, dict) and bool(options.get("device")) and _python_function(value) is not None


def _names(code: python_types.CodeType) -> Iterator[str]:
    """The global names of a function and of the functions in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            yield from _names(constant)


def _is_filled(cell: python_types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # raises if it is empty
    except ValueError:
        return False
    return True


def _is_ours(module: str) -> bool:
    return module == "gpukit" or module.startswith("gpukit.")


def _cuda() -> Any:
    return importlib.import_module("numba.cuda")


def _named(dotted: str) -> Any:
    """The object of a canonical name, such as "cuda.atomic.add" or "numpy.float32"."""
    root, *rest = dotted.split(".")
    found = _cuda() if root == "cuda" else importlib.import_module(root)
    path = found.__name__
    for part in rest:
        path = f"{path}.{part}"
        if not hasattr(found, part):
            try:
                found = importlib.import_module(path)
                continue
            except ImportError:
                raise UnsupportedFeature(f"numba-cuda has no {dotted}, which the kernel uses") from None
        found = getattr(found, part)
    return found
