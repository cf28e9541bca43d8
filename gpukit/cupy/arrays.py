"""cupy.ndarray on the CPU machine: a NumPy array that keeps CuPy's rules where they matter.

Host and device memory stay apart as on a GPU: arrays are copied in (`asarray`, `set`) and out (`get`, `asnumpy`), and a
plain NumPy array is not mixed into an operation. Elements and reductions are arrays without axes, not numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpukit.cuda.devicearray import POISON_BYTE
from gpukit.errors import KernelTypeError
from gpukit.raw.arguments import address_of


class CupyTypeError(KernelTypeError, TypeError):
    """What CuPy raises a TypeError for."""


class Address(int):
    """A device address that still knows its array, so that kernels take it for the pointer it is."""

    __gpukit_array__: np.ndarray


class MemoryPointer:
    """Where an array begins: `ptr` is the address. `cupy.ndarray(shape, dtype, pointer)` views that memory."""

    def __init__(self, array: np.ndarray):
        self.__gpukit_array__ = array

    @property
    def ptr(self) -> Address:
        array = self.__gpukit_array__
        address = Address(address_of(array))
        address.__gpukit_array__ = self.__gpukit_array__
        return address

    @property
    def device(self) -> Any:
        from gpukit.cupy.cuda import Device

        return Device(0)

    def __int__(self) -> int:
        return int(self.ptr)

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.bytes()[offset:])

    __radd__ = __add__

    def bytes(self) -> np.ndarray:
        """The memory from here on, uint8."""
        return self.__gpukit_array__.reshape(-1).view(np.uint8)

    def memset(self, value: int, size: int) -> None:
        self.bytes()[:size] = value

    memset_async = memset

    def copy_from(self, source: Any, size: int) -> None:
        """Copy `size` bytes from a device pointer."""
        self.bytes()[:size] = source.bytes()[:size]

    copy_from_device = copy_from_async = copy_from_device_async = copy_from


class ndarray(np.ndarray):
    """An array in device memory. `ndarray(shape, dtype)` is uninitialised, as `cupy.empty`."""

    __cuda_memory__ = True
    __cuda_ndarray__ = True
    __array_priority__ = 100
    stream: Any = 0

    def __new__(
        cls,
        shape: Any,
        dtype: Any = float,
        memptr: MemoryPointer | None = None,
        strides: tuple[int, ...] | None = None,
        order: Any = "C",
    ) -> ndarray:
        buffer = memptr.bytes() if memptr is not None else None
        made = super().__new__(cls, shape, dtype, buffer, 0, strides, order)
        if memptr is None and made.size:
            made.view(np.ndarray).ravel(order="K").view(np.uint8)[:] = POISON_BYTE
        return made

    # --- copies between host and device ------------------------------------------------------------------------------

    @property
    def __gpukit_array__(self) -> np.ndarray:
        return self.view(np.ndarray)

    def get(self, stream: Any = None, order: Any = "C", out: np.ndarray | None = None, blocking: bool = True) -> Any:
        """A copy as a NumPy array (in `out` if given)."""
        host = self.view(np.ndarray)
        if out is None:
            return np.array(host, order=order)
        np.copyto(out, host)
        return out

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """What a numba.cuda program calls `get`."""
        return self.get(out=ary)

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        """Copy a NumPy array of the same shape and dtype into this one."""
        if not isinstance(arr, np.ndarray) or isinstance(arr, ndarray):
            raise CupyTypeError(f"ndarray.set takes a NumPy array, not a {type(arr).__name__}")
        if arr.shape != self.shape or arr.dtype != self.dtype:
            raise CupyTypeError(
                f"ndarray.set needs the same shape and dtype: {arr.shape} of {arr.dtype} does not fit {self.shape} of "
                f"{self.dtype}"
            )
        np.copyto(self.view(np.ndarray), arr)

    # --- what it looks like ------------------------------------------------------------------------------------------

    @property
    def data(self) -> MemoryPointer:  # type: ignore[override]
        return MemoryPointer(self.view(np.ndarray))

    @property
    def device(self) -> Any:
        return self.data.device

    @property
    def cstruct(self) -> MemoryPointer:
        return self.data

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        host = self.view(np.ndarray)
        return {
            "shape": host.shape,
            "strides": None if host.flags.c_contiguous else host.strides,
            "data": (address_of(host), False),
            "typestr": host.dtype.str,
            "version": 3,
        }

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def is_c_contiguous(self) -> bool:
        return self.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        return self.flags.f_contiguous

    # --- elements and arithmetic -------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(_host(key))
        if isinstance(found, np.ndarray):
            return found
        parts = key if isinstance(key, tuple) else (key,)
        return super().__getitem__((*(_host(part) for part in parts), Ellipsis))  # a view without axes

    def __setitem__(self, key: Any, value: Any) -> None:
        if is_host(value) and value.ndim:
            raise mixed()
        super().__setitem__(_host(key), _host(value))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if any(is_host(value) and value.ndim for value in inputs):
            raise mixed()
        if out is not None:
            options["out"] = tuple(_host(value) for value in out)
        result = getattr(ufunc, method)(*(_host(value) for value in inputs), **options)
        if out is not None and len(out) == 1:
            return out[0]
        return device(result)


# Methods of NumPy's that give a number where CuPy gives an array without axes.
_METHODS = (
    "all",
    "any",
    "argmax",
    "argmin",
    "dot",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "std",
    "sum",
    "take",
    "trace",
    "var",
)


def _method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    @functools.wraps(function)
    def method(self: ndarray, *args: Any, out: Any = None, **options: Any) -> Any:
        if any(is_host(value) and value.ndim for value in args):
            raise mixed()
        if out is not None:
            options["out"] = _host(out)
        result = function(_host(self), *(_host(value) for value in args), **options)
        return device(result) if out is None else out

    return method


for _name in (*_METHODS, "searchsorted"):
    setattr(ndarray, _name, _method(_name))


def is_host(value: Any) -> bool:
    """Whether a value is an array of the host's."""
    return isinstance(value, np.ndarray) and not isinstance(value, ndarray)


def mixed() -> CupyTypeError:
    """What an operation on host and device arrays at once raises."""
    return CupyTypeError("CuPy does not mix NumPy arrays with its own: use cupy.asarray(...) on them first")


def _host(value: Any) -> Any:
    if isinstance(value, ndarray):
        return value.view(np.ndarray)
    if isinstance(value, tuple):
        return tuple(_host(item) for item in value)
    return value


def host(value: Any) -> Any:
    """A value, or what is in a list, tuple or dict, with device arrays as NumPy sees them."""
    if isinstance(value, list):
        return [host(item) for item in value]
    if type(value) is tuple:
        return tuple(host(item) for item in value)
    return _host(value)


def device(result: Any) -> Any:
    """What a NumPy function gave, as CuPy would give it: arrays and numbers as device arrays."""
    if isinstance(result, ndarray):
        return result
    if isinstance(result, np.ndarray):
        return result.view(ndarray)
    if isinstance(result, np.generic):
        return np.asarray(result).view(ndarray)
    if isinstance(result, list):
        return [device(item) for item in result]
    if type(result) is tuple:
        return tuple(device(item) for item in result)
    return result


def upload(value: Any, dtype: Any = None, order: Any = "K", copy: bool = True) -> ndarray:
    """A device array of anything array-like; a device array itself where no copy is asked for and none is needed."""
    if isinstance(value, ndarray) and not copy:
        made = np.asarray(value.view(np.ndarray), dtype, order)
        same = made.dtype == value.dtype and np.shares_memory(made, value.view(np.ndarray))
        return value if same or not value.size else made.view(ndarray)
    made = np.array(host(value), dtype=dtype, order=order, copy=True)
    if made.dtype.kind not in "biufcV":
        raise CupyTypeError(f"CuPy has no arrays of {made.dtype}: use numbers")
    return made.view(ndarray)
