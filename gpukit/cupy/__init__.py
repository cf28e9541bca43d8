"""CuPy for programs that run on the CPU machine: arrays by NumPy, kernels by `gpukit.raw`.

It takes CuPy's place under `gpukit run`, `profile` and `check`. Array functions compute what NumPy's compute; a launch
of a RawKernel runs on the machine, where profile and check see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.cupy import cuda, fft, linalg, random, testing
from gpukit.cupy.arrays import MemoryPointer, device, host, ndarray, upload
from gpukit.cupy.forwarding import forward, looks_up

if TYPE_CHECKING:
    from gpukit.cupy.kernels import ElementwiseKernel, RawKernel, RawModule, ReductionKernel, fuse

__version__ = "14.0.0"  # the CuPy whose interface this follows

_numpys = looks_up(np)
_KERNELS = ("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel", "fuse")
# What takes arrays of the host and of the device alike.
_EITHER = (*("shape", "ndim", "size", "result_type", "can_cast", "save", "savez", "savez_compressed", "savetxt"),)


def __getattr__(name: str) -> Any:
    if name in _KERNELS:
        from gpukit.cupy import kernels  # the front end is loaded by programs that have kernels

        return getattr(kernels, name)
    if name in _EITHER:
        return forward(getattr(np, name), takes_host_arrays=True)
    return _numpys(name)


# --- arrays in and out -----------------------------------------------------------------------------------------------


def array(
    obj: Any, dtype: Any = None, copy: bool = True, order: Any = "K", subok: bool = False, ndmin: int = 0
) -> ndarray:
    """A device array of anything array-like."""
    made = upload(obj, dtype, order, copy)
    shaped: ndarray = made.reshape((1,) * max(0, ndmin - made.ndim) + made.shape)  # type: ignore[assignment]
    return shaped


def asarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> ndarray:
    """A device array of anything array-like; a device array of that dtype is returned as it is."""
    return upload(a, dtype, order or "K", copy=False)


asanyarray = asarray


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    return upload(a, dtype, "C", copy=False)


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    return upload(a, dtype, "F", copy=False)


def asnumpy(a: Any, stream: Any = None, order: Any = "C", out: Any = None, *, blocking: bool = True) -> Any:
    """A NumPy array of a device array (a copy) or of anything array-like."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out)
    made = np.asarray(a, order=order)
    if out is None:
        return made
    np.copyto(out, made)
    return out


def empty(shape: Any, dtype: Any = float, order: Any = "C") -> ndarray:
    """An uninitialised device array: its values are no numbers, as nothing promises any."""
    return ndarray(shape, dtype, order=order)


def empty_like(prototype: Any, dtype: Any = None, order: Any = "K", subok: Any = None, shape: Any = None) -> ndarray:
    like = np.empty_like(host(prototype), dtype, order, False, shape)
    return ndarray(like.shape, like.dtype, order="F" if like.flags.fnc else "C")


def get_array_module(*args: Any) -> Any:
    """This module if any argument is a device array, else numpy."""
    import sys

    return sys.modules[__name__] if any(isinstance(arg, ndarray) for arg in args) else np


def copyto(dst: ndarray, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    np.copyto(host(dst), host(src), casting, host(where))


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    return np.may_share_memory(host(a), host(b))


def load(file: Any, mmap_mode: Any = None, allow_pickle: Any = None) -> Any:
    """The array of a .npy file, or those of a .npz file."""
    found = np.load(file, mmap_mode, bool(allow_pickle))
    return device(np.array(found)) if isinstance(found, np.ndarray) else {name: upload(found[name]) for name in found}


# --- the device ------------------------------------------------------------------------------------------------------


def is_available() -> bool:
    return cuda.is_available()


_memory_pool, _pinned_memory_pool = cuda.MemoryPool(), cuda.PinnedMemoryPool()


def get_default_memory_pool() -> cuda.MemoryPool:
    return _memory_pool


def get_default_pinned_memory_pool() -> cuda.PinnedMemoryPool:
    return _pinned_memory_pool


def show_config() -> None:
    print(f"gpukit's CuPy, on the CPU machine\nNumPy Version : {np.__version__}")


__all__ = [
    "ElementwiseKernel",
    "MemoryPointer",
    "RawKernel",
    "RawModule",
    "ReductionKernel",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "asnumpy",
    "copyto",
    "cuda",
    "empty",
    "empty_like",
    "fft",
    "fuse",
    "get_array_module",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "is_available",
    "linalg",
    "load",
    "may_share_memory",
    "ndarray",
    "random",
    "show_config",
    "testing",
]
