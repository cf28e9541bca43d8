"""Kernels in Python on the GPU, through numba-cuda.

A kernel may be numba-cuda's own, one of the facade, or one read from a file: `gpukit.compilers.numba_names` makes of
any of them a function whose names mean numba.cuda, and numba-cuda compiles and launches that.

An array is handed over as a `NumbaArray`. numba-cuda would take CuPy arrays as they are, but asks each one twice in
every launch for a DLPack capsule (for its type, and for its address) and lets streams wait for each other;
`numba.cuda.as_cuda_array` checks the driver's context, wraps the pointer and makes an array object each time. A
`NumbaArray` has what numba-cuda reads in a launch, its type and its address, and asks nobody.
"""

from __future__ import annotations

import functools
import importlib
import math
import warnings
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpukit.compilers.numba_names import function_of
from gpukit.compilers.numba_ptx import complete, fail
from gpukit.errors import GpukitError, KernelAssertion, KernelTypeError, LaunchError
from gpukit.gpu import libraries
from gpukit.gpu.errors import explained, explaining, first_line, refused
from gpukit.gpu.launching import Dim3
from gpukit.gpu.transfers import Copies, DeviceArray, exchanged, is_device_array, is_host_array, on_device
from gpukit.gpus import SHARED_PER_BLOCK_DEFAULT_BYTES
from gpukit.machine.frontends import python as python_frontend

# Options of a kernel that change what is launched. `cache` is not among them: a file of machine code belongs to the
# kernel it was made of.
_OPTIONS = (
    *("fastmath", "opt", "debug", "inline", "forceinline", "launch_bounds", "link", "max_registers", "lto"),
    "shared_memory_carveout",
)
_CONFIGURATIONS_KEPT = 256


def launch(kernel: Any, grid: Dim3, block: Dim3, args: tuple[Any, ...], shared_bytes: int) -> None:
    """Launch a kernel; as `gpukit.gpu.launch`, inside `real_numba_cuda`."""
    cupy = libraries.cupy()
    made = _made(kernel)
    values = complete(made.function, args)
    what = f"the kernel `{made.function.__name__}`"
    with explaining(what, cupy=cupy):
        copies = Copies(values, cupy)
        given = _given(made, values, copies, cupy)
    version = made.compiled(tuple(map(_type_of, given)))
    with explaining(what, cupy=cupy, grid=grid, block=block, shared_bytes=shared_bytes):
        _check_block(made, version, block)
        if shared_bytes > version.shared_bytes:
            _allow_shared(made, version, shared_bytes, cupy)
        configured = made.configured(grid, block, cupy.cuda.get_current_stream().ptr, shared_bytes)
        try:
            configured(*given)
        except Exception as error:
            raise _why(error, made, version, grid, block) from None
        if copies:
            copies.back()


def _why(error: Exception, made: _Made, version: _Version, grid: Dim3, block: Dim3) -> Exception:
    """What numba-cuda's launch raised, as gpukit says it where it is no error of CUDA's."""
    name = made.function.__name__
    if isinstance(error, ValueError) and version.kernel.cooperative:  # it counts by itself what the GPU holds at once
        return refused("COOPERATIVE_LAUNCH_TOO_LARGE", f"the kernel `{name}`", grid, block)
    if not made.options.get("debug") or explained(error) is not None:
        return error
    # With debug=True it waits for the kernel and raises what the kernel raised.
    code = made.function.__code__
    text = f"`{name}` raised {type(error).__name__}: {first_line(error)}"
    return KernelAssertion(text, file=code.co_filename, line=code.co_firstlineno)


# --- kernels ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Version:
    """A kernel compiled for one list of argument types. `shared_bytes`: the most dynamic shared memory of a launch."""

    kernel: Any
    max_threads: int
    shared_bytes: int


@dataclass(eq=False)
class _Made:
    """A kernel as numba-cuda has it: `function` is what it compiles, `dispatcher` numba.cuda.jit of it."""

    function: Any
    options: dict[str, Any]
    dispatcher: Any
    versions: dict[tuple, _Version] = field(default_factory=dict)  # by numba's types of the arguments
    ready: dict[tuple, Any] = field(default_factory=dict)  # shape, stream and shared memory -> the configured kernel

    def compiled(self, kinds: tuple) -> _Version:
        """The kernel compiled for these types. Raises what numba-cuda says, as a sentence with its place."""
        found = self.versions.get(kinds)
        if found is None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    kernel = self.dispatcher.compile(kinds)
                most = SHARED_PER_BLOCK_DEFAULT_BYTES - int(kernel.shared_mem_per_block)
                found = self.versions[kinds] = _Version(kernel, int(kernel.max_threads_per_block), most)
            except GpukitError:
                raise
            except Exception as error:  # numba raises a hundred kinds
                known = explained(error, f"the kernel `{self.function.__name__}`")
                if known is not None:
                    raise known from None
                fail(error, self.function)
        return found

    def configured(self, grid: Dim3, block: Dim3, stream: int, shared_bytes: int) -> Any:
        """The kernel with its shape, on a stream by its address; 0 is the default stream of both libraries."""
        key = (grid, block, stream, shared_bytes)
        found = self.ready.get(key)
        if found is None:
            if len(self.ready) >= _CONFIGURATIONS_KEPT:
                self.ready.clear()
            with warnings.catch_warnings():  # a grid of few blocks is a warning to numba-cuda; it is an exercise here
                warnings.simplefilter("ignore")
                on = libraries.numba_cuda().external_stream(stream) if stream else 0
                found = self.ready[key] = self.dispatcher[grid, block, on, shared_bytes]
        return found


_known: weakref.WeakKeyDictionary[Any, _Made] = weakref.WeakKeyDictionary()


def _made(kernel: Any) -> _Made:
    """The kernel for numba-cuda, made once; it goes when the kernel goes."""
    found = _known.get(kernel)
    if found is None:
        function, options = function_of(kernel), _options(kernel)
        with warnings.catch_warnings():  # debug without opt=False is one to numba-cuda
            warnings.simplefilter("ignore")
            dispatcher = libraries.numba_cuda().jit(lineinfo=not options.get("debug"), **options)(function)
        found = _known[kernel] = _Made(function, options, dispatcher)
    return found


def _options(kernel: Any) -> dict[str, Any]:
    """The options a kernel was declared with that matter on a GPU."""
    options = getattr(getattr(kernel, "dispatcher", kernel), "targetoptions", None)
    if not isinstance(options, dict):
        return {}
    return {name: options[name] for name in _OPTIONS if options.get(name) not in (None, (), [])}


def _check_block(made: _Made, version: _Version, block: Dim3) -> None:
    threads = block[0] * block[1] * block[2]
    if threads > version.max_threads:
        raise LaunchError(
            f"launch_config: `{made.function.__name__}` can have {version.max_threads:,} threads a block on this GPU, "
            f"for the {int(version.kernel.regs_per_thread)} registers that each needs or its launch bounds; "
            f"{threads:,} were asked for: use smaller blocks",
            file=made.function.__code__.co_filename,
            line=made.function.__code__.co_firstlineno,
        )


def _allow_shared(made: _Made, version: _Version, shared_bytes: int, cupy: Any) -> None:
    """Ask for more dynamic shared memory than a kernel may have unasked. numba-cuda has no option for it."""
    most = int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
    total = int(version.kernel.shared_mem_per_block) + shared_bytes
    if total > most:
        raise LaunchError(
            f"launch_config: the kernel `{made.function.__name__}` asks for {total:,} bytes of shared memory a block; "
            f"this GPU has {most:,}: use a smaller tile"
        )
    driver = importlib.import_module("numba.cuda.cudadrv.driver")
    function = version.kernel.library.get_cufunc()
    attribute = driver.binding.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    driver.driver.cuKernelSetAttribute(attribute, shared_bytes, function.handle, function.device.id)
    version.shared_bytes = shared_bytes


# --- arguments -------------------------------------------------------------------------------------------------------


class NumbaArray:
    """An array in GPU memory with what numba-cuda asks of one in a launch: its type, its address and its shape. It
    lives for one launch and keeps the array it stands for."""

    __slots__ = ("_numba_type_", "dtype", "owner", "ptr", "shape", "size", "strides_in_bytes")
    __cuda_memory__ = True

    def __init__(self, array: DeviceArray):
        self._numba_type_ = _array_type(array.dtype, len(array.shape), array.layout, array.readonly)
        self.ptr = array.address
        self.shape = array.shape
        self.strides_in_bytes = array.strides
        self.dtype = array.dtype
        self.size = math.prod(array.shape)
        self.owner = array.owner

    @property
    def _strided_memory_view_shim(self) -> NumbaArray:
        return self

    @property
    def _layout(self) -> NumbaArray:
        return self


_array_types: dict[tuple, Any] = {}


def _array_type(dtype: np.dtype, ndim: int, layout: str, readonly: bool) -> Any:
    """numba's type of an array."""
    key = (dtype, ndim, layout, readonly)
    if key not in _array_types:
        types: Any = importlib.import_module("numba.cuda.types")
        support: Any = importlib.import_module("numba.cuda.np.numpy_support")
        _array_types[key] = types.Array(support.from_dtype(dtype), ndim, layout, readonly=readonly)
    return _array_types[key]


def _given(made: _Made, values: tuple[Any, ...], copies: Copies, cupy: Any) -> tuple[Any, ...]:
    """The arguments as numba-cuda takes them. Raises KernelTypeError for what no kernel takes."""
    for i, value in enumerate(values):
        if not isinstance(value, cupy.ndarray) and type(value) not in _types_of_scalars:
            _check(made, i, value)
    wrap = NumbaArray if _reads_shims() else _documented

    def array(value: Any) -> Any:
        return wrap(copies.of(value) if is_host_array(value) else on_device(value, cupy))

    return exchanged(values, array)


def _check(made: _Made, position: int, value: Any) -> None:
    names = made.function.__code__.co_varnames
    name = names[position] if position < len(names) else f"argument {position + 1}"
    for item in _leaves(value):
        if item is None:
            raise KernelTypeError(f"the argument `{name}` is None, which numba-cuda does not pass to a kernel on a GPU")
        if not is_device_array(item):
            python_frontend.type_of(item, name)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


@functools.cache
def _reads_shims() -> bool:
    """Whether this numba-cuda reads arrays as `NumbaArray` has them."""
    base = importlib.import_module("numba.cuda.cudadrv.devicearray")
    return hasattr(getattr(base, "DeviceNDArrayBase", None), "_strided_memory_view_shim")


def _documented(array: DeviceArray) -> Any:
    """The same for a numba-cuda of another version, by what it documents."""
    described = _Described(array)
    return libraries.numba_cuda().as_cuda_array(described, sync=False)  # sync: to wait for a stream in each launch


class _Described:
    """An array in GPU memory as libraries describe one to each other."""

    def __init__(self, array: DeviceArray):
        self.owner = array.owner
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "data": (array.address, array.readonly),
            "version": 3,
        }


_types_of_scalars: dict[type, Any] = {}  # those that the class alone decides


def _type_of(value: Any) -> Any:
    """numba's type of an argument."""
    kind = getattr(value, "_numba_type_", None) or _types_of_scalars.get(type(value))
    if kind is None:
        kind = importlib.import_module("numba.cuda.typing.typeof").typeof(value)
        by_class = isinstance(value, np.number | np.bool_) and not isinstance(value, np.timedelta64)
        if by_class or type(value) in (bool, float, complex):
            _types_of_scalars[type(value)] = kind
    return kind
