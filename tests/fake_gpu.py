"""A GPU made of host memory, to test what hands work to one: CuPy's arrays and modules, and numba-cuda's driver, as far
as `gpukit.gpu` uses them. Kernels run on the CPU machine, on the arrays that their arguments' bytes lead to."""

from __future__ import annotations

import math
import types as python_types
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

import gpukit
from gpukit.gpu import transfers


@dataclass
class Launched:
    """One launch as the driver saw it."""

    name: str
    grid: tuple
    block: tuple
    args: tuple
    shared_bytes: int
    stream: Any = 0
    options: dict = field(default_factory=dict)


class Memory:
    """All that was allocated on the GPU; an address leads back to the host memory that plays it."""

    def __init__(self) -> None:
        self.blocks: list[np.ndarray] = []

    def allocate(self, nbytes: int) -> np.ndarray:
        """Bytes that lie on a boundary of 512, as CuPy's do."""
        raw = np.full(nbytes + 1024, 0xAB, np.uint8)  # what nobody wrote is not 0
        start = -raw.ctypes.data % 512
        self.blocks.append(raw[start : start + max(nbytes, 1)])
        return raw[start : start + nbytes]

    def array(self, address: int, shape: tuple, strides: tuple, dtype: Any) -> np.ndarray:
        """What lies at an address; fails for one outside of what was allocated."""
        for block in self.blocks:
            low, high = byte_bounds(block)
            if low <= address < high:
                return np.ndarray(shape, dtype, block, address - low, strides)
        assert 0 in shape, f"{address:#x} is no address on this GPU"
        return np.empty(shape, dtype)

    def rest(self, address: int) -> np.ndarray:
        """The bytes from an address to the end of what was allocated there."""
        for block in self.blocks:
            low, high = byte_bounds(block)
            if low <= address < high:
                return block[address - low :]
        raise AssertionError(f"{address:#x} is no address on this GPU")


class OutOfMemoryError(MemoryError):
    """As CuPy's, whose module's name it carries."""

    __module__ = "cupy.cuda.memory"


class RuntimeFailure(RuntimeError):
    """As CuPy's CUDARuntimeError."""

    __module__ = "cupy_backends.cuda.api.runtime"


class FakeCupy(python_types.ModuleType):
    """CuPy with `memory` for a GPU. `launched` holds the launches; `limit` the bytes that fit; `fails` is raised by the
    next synchronisation, as the errors of kernels are."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.memory = Memory()
        self.launched: list[Launched] = []
        self.modules: list[Any] = []
        self.limit = 1 << 30
        self.resident_blocks = 264
        self.fails: Exception | None = None
        self.stream = 0
        self.variables: dict[str, np.ndarray] = {}
        self.kernels: dict[str, Any] = {}  # name in the module -> the kernel that plays it
        self.copies = {"in": 0, "out": 0}
        gpu = self

        class ndarray:  # CuPy calls it so
            def __init__(self, shape: tuple, dtype: Any, memptr: Any = None, strides: Any = None, host: Any = None):
                dtype = np.dtype(dtype)
                if host is None:
                    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
                    if memptr is None:
                        host = np.ndarray(shape, dtype, gpu._allocate(nbytes))
                    else:
                        host = np.ndarray(shape, dtype, memptr)
                self.host = host

            shape = property(lambda self: self.host.shape)
            strides = property(lambda self: self.host.strides)
            dtype = property(lambda self: self.host.dtype)
            size = property(lambda self: self.host.size)
            nbytes = property(lambda self: self.host.nbytes)
            flags = property(lambda self: self.host.flags)
            ndim = property(lambda self: self.host.ndim)
            T = property(lambda self: ndarray((), self.dtype, host=self.host.T))

            @property
            def data(self) -> Any:
                return python_types.SimpleNamespace(ptr=self.host.__array_interface__["data"][0])

            @property
            def __cuda_array_interface__(self) -> dict:
                return {
                    "shape": self.shape,
                    "strides": self.strides,
                    "typestr": self.dtype.str,
                    "data": (self.data.ptr, False),
                    "version": 3,
                    "stream": 1,
                }

            def __getitem__(self, index: Any) -> ndarray:
                return ndarray((), self.dtype, host=self.host[index])

            def set(self, array: np.ndarray) -> None:
                assert array.shape == self.shape and array.dtype == self.dtype
                gpu.copies["in"] += 1
                self.host[...] = array

            def get(self, out: np.ndarray | None = None) -> np.ndarray:
                gpu.synchronize()
                gpu.copies["out"] += 1
                if out is None:
                    return self.host.copy()
                assert out.flags.c_contiguous and out.shape == self.shape and out.dtype == self.dtype
                out[...] = self.host
                return out

        class RawModule:
            def __init__(self, *, path: str, enable_cooperative_groups: bool = False):
                with open(path, "rb") as file:
                    self.code = file.read()
                self.path, self.cooperative = path, enable_cooperative_groups
                gpu.modules.append(self)

            def get_function(self, name: str) -> RawFunction:
                return RawFunction(self, name)

            def get_global(self, name: str) -> Any:
                if name not in gpu.variables:
                    raise RuntimeFailure("CUDA_ERROR_NOT_FOUND: named symbol not found")
                return gpu.variables[name]

        class RawFunction:
            shared_size_bytes = 0
            max_dynamic_shared_size_bytes = 48 * 1024

            def __init__(self, module: RawModule, name: str):
                self.module, self.name = module, name

            def __call__(self, grid: tuple, block: tuple, args: tuple, *, shared_mem: int = 0) -> None:
                assert shared_mem <= self.max_dynamic_shared_size_bytes
                if self.module.cooperative and math.prod(grid) > gpu.resident_blocks:  # as CuPy 14 does
                    warnings.warn(f"The grid size will be reduced from {grid} to the limit.", stacklevel=2)
                    grid = (gpu.resident_blocks, 1, 1)
                gpu.launched.append(
                    Launched(self.name, grid, block, args, shared_mem, options={"cooperative": self.module.cooperative})
                )
                if self.name in gpu.kernels:
                    kernel = gpu.kernels[self.name]
                    values = [gpu._value(value, p.pointer) for value, p in zip(args, kernel.parameters, strict=True)]
                    gpukit.launch(kernel, grid, block, *values, shared_bytes=shared_mem, machine="cpu")

        self.ndarray, self.RawModule = ndarray, RawModule
        runtime = python_types.SimpleNamespace(
            memGetInfo=lambda: (self._free(), self.limit),
            getDeviceCount=lambda: 1,
            getDeviceProperties=lambda _: {"name": b"NVIDIA H200"},
            profilerStart=lambda: None,
            profilerStop=lambda: None,
        )
        attributes = {"MultiProcessorCount": 132, "MaxSharedMemoryPerBlockOptin": 232_448}
        device = python_types.SimpleNamespace(
            id=0, compute_capability="90", attributes=attributes, synchronize=self.synchronize
        )
        self.cuda = python_types.SimpleNamespace(
            runtime=runtime,
            Device=lambda: device,
            get_current_stream=lambda: python_types.SimpleNamespace(ptr=self.stream),
        )

    # --- CuPy's functions --------------------------------------------------------------------------------------------

    def empty(self, shape: Any, dtype: Any = np.float64) -> Any:
        return self.ndarray((shape,) if isinstance(shape, int) else shape, dtype)

    def asarray(self, value: Any, dtype: Any = None) -> Any:
        if isinstance(value, self.ndarray):
            return value
        if hasattr(value, "__cuda_array_interface__"):
            told = value.__cuda_array_interface__
            dtype = np.dtype(told["typestr"])
            return self.ndarray(
                (), dtype, host=self.memory.array(told["data"][0], told["shape"], told["strides"], dtype)
            )
        host = np.asarray(value, dtype)
        made = self.empty(host.shape, host.dtype)
        made.host[...] = host
        return made

    def asnumpy(self, array: Any) -> np.ndarray:
        return array.get()

    def get_default_memory_pool(self) -> Any:
        return python_types.SimpleNamespace(free_bytes=lambda: 0)

    def synchronize(self) -> None:
        if self.fails is not None:
            raise self.fails

    def _allocate(self, nbytes: int) -> np.ndarray:
        if nbytes > self._free():
            raise OutOfMemoryError(f"Out of memory allocating {nbytes:,} bytes (allocated so far: 0 bytes).")
        return self.memory.allocate(nbytes)

    def _free(self) -> int:
        return self.limit - sum(block.nbytes for block in self.memory.blocks)

    def _value(self, value: Any, pointer: bool) -> Any:
        """What the kernel gets for what CuPy was given."""
        if isinstance(value, self.ndarray):
            return value.host
        if isinstance(value, np.ndarray):  # CuPy passes an array of one element by value
            assert value.size == 1
            return value
        assert type(value) in {np.dtype(code).type for code in "?bhilqBHILQefdFD"}, f"CuPy does not take {value!r}"
        if pointer:
            return self.memory.rest(int(value)) if value else None
        return value


class FakeNumbaKernel:
    """In the place of numba-cuda's `_Kernel`, which would ask the driver: arguments are taken apart by numba-cuda's own
    code, and the kernel runs on what they lead to."""

    gpu: FakeCupy
    real: Any  # numba-cuda's _Kernel
    shared_mem_per_block = 0
    max_threads_per_block = 1024
    regs_per_thread = 16
    launch_config_sensitive = False
    extensions = ()
    entry_point = None
    attributes: list[tuple]

    def __init__(self, py_func: Any, argtypes: tuple, **options: Any):
        self.py_func, self.argument_types, self.options = py_func, argtypes, options

    def bind(self) -> None:
        pass

    def _prepare_args(self, *args: Any) -> None:
        self.real._prepare_args(self, *args)

    @property
    def library(self) -> Any:
        function = python_types.SimpleNamespace(handle=self, device=python_types.SimpleNamespace(id=0))
        return python_types.SimpleNamespace(get_cufunc=lambda: function)

    def launch(self, args: tuple, grid: tuple, block: tuple, stream: Any, shared_bytes: int) -> None:
        parameters: list[Any] = []
        for kind, value in zip(self.argument_types, args, strict=True):
            self._prepare_args(kind, value, stream, [], parameters)
        left = iter(parameters)
        values = tuple(self._read(kind, left) for kind in self.argument_types)
        assert not list(left)
        name = self.py_func.__name__
        self.gpu.launched.append(
            Launched(name, grid, block, values, shared_bytes, int(stream.handle), {**self.options})
        )
        # As arrays of a device: such an array need not be contiguous.
        given = transfers.exchanged(values, lambda array: python_types.SimpleNamespace(__gpukit_array__=array))
        shape: dict[str, Any] = {"shared_bytes": shared_bytes, "machine": "cpu"}
        try:
            gpukit.launch(self.py_func, grid, block, *given, **shape)
        except gpukit.KernelSyntaxError:  # it was read from a file, and made anew
            gpukit.launch(self.py_func, grid, block, *given, level="compiled", **shape)

    def _read(self, kind: Any, parameters: Any) -> Any:
        """A value from the parameters of the launch, by its type."""
        from numba.cuda import types
        from numba.cuda.np import numpy_support

        def number(value: Any) -> Any:
            return getattr(value, "value", value)

        if isinstance(kind, types.Array):
            _, _, size, itemsize, address = (number(next(parameters)) for _ in range(5))
            shape = tuple(number(next(parameters)) for _ in range(kind.ndim))
            strides = tuple(number(next(parameters)) for _ in range(kind.ndim))
            dtype = numpy_support.as_dtype(kind.dtype)
            assert (size, itemsize) == (np.prod(shape), dtype.itemsize)
            found = self.gpu.memory.array(address, shape, strides, dtype)
            found.flags.writeable = kind.mutable
            return found
        if isinstance(kind, types.BaseTuple):
            return tuple(self._read(item, parameters) for item in kind)
        if isinstance(kind, types.Complex):
            return complex(number(next(parameters)), number(next(parameters)))
        if kind == types.float16:
            return np.uint16(number(next(parameters))).view(np.float16)
        dtype = numpy_support.as_dtype(kind)
        return dtype.type(number(next(parameters)))
