"""The facade: `from gpukit import cuda` is numba.cuda's API on the CPU machine, with nothing of numba needed.

Kernels, device arrays, streams, events and the kernel language's names are spelled as numba.cuda spells them.
"""

from __future__ import annotations

from importlib.machinery import PathFinder as _PathFinder

from gpukit.cuda import args, cg, config, cudadrv, errors, kernels, libdevice, random, stubs, types
from gpukit.cuda.args import In, InOut, Out
from gpukit.cuda.device import (
    Event,
    MemoryInfo,
    Stream,
    close,
    cuda_error,
    current_context,
    default_stream,
    defer_cleanup,
    detect,
    event,
    event_elapsed_time,
    external_stream,
    get_current_device,
    gpus,
    is_available,
    is_bfloat16_supported,
    is_float16_supported,
    is_fp8_supported,
    is_supported_version,
    legacy_default_stream,
    list_devices,
    open_ipc_array,
    per_thread_default_stream,
    profile_start,
    profile_stop,
    profiling,
    require_context,
    select_device,
    stream,
    synchronize,
)
from gpukit.cuda.devicearray import (
    DeviceNDArray,
    as_cuda_array,
    device_array,
    device_array_like,
    from_cuda_array_interface,
    is_cuda_array,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from gpukit.cuda.dispatcher import Dispatcher, declare_device, jit
from gpukit.cuda.errors import CudaSupportError, KernelRuntimeError
from gpukit.cuda.kernels.reduction import Reduce
from gpukit.cuda.ufuncs import guvectorize, vectorize

reduce = Reduce
HAS_NUMBA = _PathFinder.find_spec("numba") is not None
implementation = "gpukit"

# The kernel language (threadIdx, syncthreads, atomic, float4, ...) and the scalar types (float32, int_, f8, ...).
globals().update(types.SCALAR_NAMES)
globals().update(stubs.NAMES)
globals().update({"void": types.void, "none": types.none})

_COMPILER_ONLY = (
    "compile",
    "compile_all",
    "compile_ptx",
    "compile_for_current_device",
    "compile_ptx_for_current_device",
    "Archive",
    "CUSource",
    "Cubin",
    "Fatbin",
    "LTOIR",
    "LinkableCode",
    "Object",
    "PTXSource",
)


def _compiler_only(name: str):
    def refuse(*_: object, **__: object):
        raise errors.RefusedError(
            f"cuda.{name} needs numba-cuda's compiler; the CPU machine runs Python kernels as they are"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


globals().update({name: _compiler_only(name) for name in _COMPILER_ONLY})


def __getattr__(name: str):
    raise AttributeError(f"numba.cuda on the CPU machine has no {name!r}")


_ALSO = sorted({*_COMPILER_ONLY, *stubs.NAMES, *types.SCALAR_NAMES, "none", "void"})

__all__ = [
    "CudaSupportError",
    "DeviceNDArray",
    "Dispatcher",
    "Event",
    "HAS_NUMBA",
    "In",
    "InOut",
    "KernelRuntimeError",
    "MemoryInfo",
    "Out",
    "Reduce",
    "Stream",
    "args",
    "as_cuda_array",
    "cg",
    "close",
    "config",
    "cuda_error",
    "cudadrv",
    "current_context",
    "declare_device",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "errors",
    "event",
    "event_elapsed_time",
    "external_stream",
    "from_cuda_array_interface",
    "get_current_device",
    "gpus",
    "guvectorize",
    "implementation",
    "is_available",
    "is_bfloat16_supported",
    "is_cuda_array",
    "is_float16_supported",
    "is_fp8_supported",
    "is_supported_version",
    "jit",
    "kernels",
    "legacy_default_stream",
    "libdevice",
    "list_devices",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "open_ipc_array",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "profile_start",
    "profile_stop",
    "profiling",
    "random",
    "reduce",
    "require_context",
    "select_device",
    "stream",
    "stubs",
    "synchronize",
    "to_device",
    "types",
    "vectorize",
    *_ALSO,
]
