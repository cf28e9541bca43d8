"""Device memory as numba.cuda shows it: arrays that live apart from the host's and are copied back and forth.

On the CPU machine "device memory" is ordinary memory of this process, but it is never the user's own: `to_device`
copies, `copy_to_host` copies back, and a device array refuses what a device array on a GPU refuses, so that a program
that works here works there.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpukit.cuda import types
from gpukit.cuda.errors import ArrayIndexError, ArrayLayoutError, ArrayTypeError, DeviceArrayUnsupported, RefusedError

# Fresh device memory is never zero by promise; this byte makes floats NaN and integers -1 in every run.
POISON_BYTE = 0xFF

NOT_CONTIGUOUS = (
    "Array contains non-contiguous buffer: a copy to the device takes one stretch of memory; "
    "pass numpy.ascontiguousarray(...) of it"
)

# Blocks of memory that device arrays live in, by address: what a __cuda_array_interface__ may point into.
_memory: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class MemoryPointer:
    """Where a device array begins, and how many bytes it reaches."""

    device_pointer: int
    size: int

    def __int__(self) -> int:
        return self.device_pointer


class DeviceNDArray:
    """An array in device memory. Made by `to_device`, `device_array` and by slicing; slices are views.

    `__gpukit_array__` is the memory itself as a NumPy array, for the machine.
    """

    __cuda_memory__ = True
    __cuda_ndarray__ = True

    def __init__(self, shape, strides=None, dtype=np.float64, stream=0):
        self.__gpukit_array__ = _allocate(shape, dtype, strides)
        self.stream = stream

    @classmethod
    def _of(cls, array: np.ndarray, stream=0):
        made = cls.__new__(cls)
        made.__gpukit_array__ = array
        made.stream = stream
        return made

    # --- what it looks like -----------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.__gpukit_array__.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self.__gpukit_array__.strides

    @property
    def dtype(self) -> np.dtype:
        return self.__gpukit_array__.dtype

    @property
    def ndim(self) -> int:
        return self.__gpukit_array__.ndim

    @property
    def size(self) -> int:
        return self.__gpukit_array__.size

    @property
    def nbytes(self) -> int:
        return self.__gpukit_array__.nbytes

    @property
    def alloc_size(self) -> int:
        """Bytes from the first element to the end of the last."""
        if not self.size:
            return 0
        return self.dtype.itemsize + sum((n - 1) * abs(s) for n, s in zip(self.shape, self.strides, strict=True))

    @property
    def flags(self) -> dict[str, bool]:
        return {"C_CONTIGUOUS": self.is_c_contiguous(), "F_CONTIGUOUS": self.is_f_contiguous()}

    @property
    def gpu_data(self) -> MemoryPointer:
        return MemoryPointer(self.__gpukit_array__.ctypes.data if self.size else 0, self.alloc_size)

    @property
    def _numba_type_(self) -> types.Type:
        return types.typeof(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        array = self.__gpukit_array__
        return {
            "shape": array.shape,
            "strides": None if array.flags.c_contiguous else array.strides,
            "data": (array.ctypes.data if array.size else 0, False),
            "typestr": array.dtype.str,
            "stream": int(self.stream) if self.stream else None,
            "version": 3,
        }

    def is_c_contiguous(self) -> bool:
        return self.__gpukit_array__.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        return self.__gpukit_array__.flags.f_contiguous

    def __len__(self) -> int:
        if not self.ndim:
            raise ArrayTypeError("len() of a device array without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<device array {types.typeof(self)} of shape {self.shape}; copy_to_host() shows its values>"

    # --- copies -----------------------------------------------------------------------------------------------------

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if copy is False:
            raise ArrayLayoutError("a device array reaches the host only as a copy: copy=False is impossible")
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype)

    def copy_to_host(self, ary: np.ndarray | None = None, stream=0) -> np.ndarray:
        """Copy to `ary`, or to a new host array; returns the host array."""
        if any(s < 0 for s in self.strides):
            raise DeviceArrayUnsupported(
                f"D->H copy not implemented for negative strides: {self.strides}; copy the array before reversing it"
            )
        if ary is None:
            return self.__gpukit_array__.copy(order="K")
        _check_compatible(self.__gpukit_array__, ary)
        np.copyto(ary, self.__gpukit_array__)
        return ary

    def copy_to_device(self, ary: Any, stream=0) -> None:
        """Copy a host or device array of the same dtype and shape into this one."""
        source = getattr(ary, "__gpukit_array__", ary)
        if not isinstance(source, np.ndarray):
            source = np.asarray(source)
        if source.size == 0:
            return
        check_contiguous(self.__gpukit_array__)
        target_core, source_core = _without_broadcast(self.__gpukit_array__), _without_broadcast(source)
        if source is ary:
            source_core = np.array(
                source_core, order="C" if target_core.flags.c_contiguous else "F", copy=None, subok=True
            )
        else:
            check_contiguous(source)
        _check_compatible(target_core, source_core)
        np.copyto(target_core, source_core)

    def to_host(self, stream=0) -> np.ndarray:
        return self.copy_to_host(stream=stream)

    def bind(self, stream=0):
        """The same memory with another default stream."""
        return type(self)._of(self.__gpukit_array__, stream)

    # --- views ------------------------------------------------------------------------------------------------------

    def _view(self, array: np.ndarray, stream=0):
        return type(self)._of(array, stream or self.stream)

    @property
    def T(self):
        return self.transpose()

    def transpose(self, axes=None):
        """A new array with the two axes exchanged."""
        if axes is not None and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise DeviceArrayUnsupported("transposing a non-2D DeviceNDArray isn't supported, on a GPU either")
        if axes is not None and set(axes) != {0, 1}:
            raise ArrayLayoutError(f"invalid axes list {axes!r}: an array of 2 axes has axes 0 and 1")
        from gpukit.cuda.kernels.transpose import transpose

        return transpose(self)

    def reshape(self, *newshape, **options):
        """The same elements in another shape, without a copy."""
        if len(newshape) == 1 and isinstance(newshape[0], (tuple, list)):
            newshape = tuple(newshape[0])
        unknown = set(options) - {"order"}
        if unknown:
            raise DeviceArrayUnsupported(
                f"unknown keyword arguments {', '.join(sorted(unknown))}: reshape takes order="
            )
        order = options.get("order", "C")
        if order not in ("C", "F"):
            raise ArrayLayoutError(f"order must be 'C' or 'F', not {order!r}")
        try:
            reshaped = self.__gpukit_array__.reshape(newshape, order=order)
        except ValueError as error:
            raise ArrayLayoutError(str(error)) from None
        if reshaped.size and not np.shares_memory(reshaped, self.__gpukit_array__):
            raise DeviceArrayUnsupported("operation requires copying: this array is not contiguous in that order")
        return self._view(reshaped)

    def ravel(self, order="C", stream=0):
        """The elements along one axis, without a copy."""
        flat = self.__gpukit_array__.ravel(order=order)
        if flat.size and not np.shares_memory(flat, self.__gpukit_array__):
            raise DeviceArrayUnsupported("operation requires copying: this array is not contiguous in that order")
        return self._view(flat, stream)

    def squeeze(self, axis=None, stream=0):
        try:
            return self._view(self.__gpukit_array__.squeeze(axis), stream)
        except ValueError as error:
            raise ArrayLayoutError(str(error)) from None

    def view(self, dtype):
        """The same bytes as another dtype."""
        try:
            return self._view(self.__gpukit_array__.view(np.dtype(dtype)))
        except ValueError as error:
            raise ArrayLayoutError(str(error)) from None

    def split(self, section: int, stream=0) -> Iterator[DeviceNDArray]:
        """Views of `section` elements each; the last may be shorter."""
        if self.ndim != 1:
            raise ArrayLayoutError("only support 1d array: split cuts along one axis")
        if self.strides[0] != self.dtype.itemsize:
            raise ArrayLayoutError("only support unit stride: this array skips elements")
        for begin in range(0, self.size, section):
            yield self._view(self.__gpukit_array__[begin : begin + section], stream)

    # --- elements ---------------------------------------------------------------------------------------------------

    def __getitem__(self, item):
        return self.getitem(item)

    def getitem(self, item, stream=0):
        """An element as a NumPy scalar (copied), or a view as a device array."""
        found = _index(self.__gpukit_array__, item)
        if found.ndim or _has_slice(item):
            return self._view(found, stream)
        if found.dtype.names is not None:
            return DeviceRecord._of(found, stream or self.stream)
        return found[()]

    def __setitem__(self, key, value):
        self.setitem(key, value)

    def setitem(self, key, value, stream=0):
        """Copy a scalar, host array or device array into the elements, with NumPy's broadcasting."""
        target = _index(self.__gpukit_array__, key)
        source = getattr(value, "__gpukit_array__", value)
        if isinstance(source, np.ndarray) and source is value:
            check_contiguous(source)
        source = np.asarray(source)
        if source.ndim > target.ndim:
            raise ArrayLayoutError(f"Can't assign {source.ndim}-D array to {target.ndim}-D self")
        for axis, length in enumerate(source.shape, start=target.ndim - source.ndim):
            if length not in (1, target.shape[axis]):
                raise ArrayLayoutError(
                    f"Can't copy sequence with size {length} to array axis {axis} with dimension {target.shape[axis]}"
                )
        target[...] = source

    def get_ipc_handle(self):
        raise RefusedError("get_ipc_handle shares GPU memory between processes; the CPU machine has none to share")


class DeviceRecord(DeviceNDArray):
    """One structured element in device memory."""

    def __init__(self, dtype, stream=0):
        super().__init__((), dtype=dtype, stream=stream)

    @property
    def _numba_type_(self) -> types.Type:
        return types.from_dtype(self.dtype)

    def getitem(self, item, stream=0):
        try:
            found = self.__gpukit_array__[item]
        except (ValueError, IndexError):
            raise ArrayLayoutError(
                f"the record has no field {item!r}; it has {', '.join(self.dtype.names or ())}"
            ) from None
        if found.dtype.names is not None:
            return DeviceRecord._of(found, stream or self.stream)
        return DeviceNDArray._of(found, stream or self.stream) if found.ndim else found[()]

    def setitem(self, key, value, stream=0):
        if key not in (self.dtype.names or ()):
            raise ArrayLayoutError(f"the record has no field {key!r}; it has {', '.join(self.dtype.names or ())}")
        self.__gpukit_array__[key] = getattr(value, "__gpukit_array__", value)


class MappedNDArray(np.ndarray):
    """A host array that kernels use in place (mapped, managed or pinned memory)."""

    __cuda_memory__ = True
    __cuda_ndarray__ = True
    stream: Any = 0

    @property
    def __gpukit_array__(self) -> np.ndarray:
        return self.view(np.ndarray)

    def copy_to_host(self, ary: np.ndarray | None = None, stream=0) -> np.ndarray:
        return DeviceNDArray._of(self.__gpukit_array__).copy_to_host(ary)

    def copy_to_device(self, ary: Any, stream=0) -> None:
        DeviceNDArray._of(self.__gpukit_array__).copy_to_device(ary)

    def is_c_contiguous(self) -> bool:
        return self.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        return self.flags.f_contiguous


# --- making arrays ---------------------------------------------------------------------------------------------------


def to_device(obj: Any, stream=0, copy: bool = True, to: DeviceNDArray | None = None) -> DeviceNDArray:
    """Copy a host array (or record, or anything NumPy makes an array of) to the device.

    obj: array-like; to: an existing device array to copy into. Device arrays are returned as they are.
    Raises ArrayLayoutError for arrays that are not contiguous.
    """
    if to is not None:
        if copy:
            to.copy_to_device(obj, stream=stream)
        return to
    return auto_device(obj, stream=stream, copy=copy)[0]


def auto_device(obj: Any, stream=0, copy: bool = True, user_explicit: bool = False) -> tuple[DeviceNDArray, bool]:
    """(device array of `obj`, whether it was made just now)."""
    if is_cuda_ndarray(obj):
        return obj, False
    if hasattr(obj, "__cuda_array_interface__"):
        return from_cuda_array_interface(obj.__cuda_array_interface__, owner=obj), False
    if isinstance(obj, np.void):
        record = DeviceRecord(obj.dtype, stream)
        if copy:
            record.__gpukit_array__[()] = obj
        return record, True
    host = np.array(obj, copy=None, subok=True)
    if host.dtype.hasobject or (host.dtype.kind == "U" and not isinstance(obj, np.ndarray)):
        raise ArrayTypeError(f"a {type(obj).__name__} of {host.dtype} cannot be copied to the device; use numbers")
    check_contiguous(host)
    device = DeviceNDArray(host.shape, host.strides, host.dtype, stream)
    if copy:
        np.copyto(device.__gpukit_array__, host)
    return device, True


def device_array(shape, dtype=np.float64, strides=None, order="C", stream=0) -> DeviceNDArray:
    """An uninitialised device array; its first values mean nothing."""
    return DeviceNDArray._of(_allocate(shape, dtype, strides, order), stream)


def device_array_like(ary: Any, stream=0) -> DeviceNDArray:
    """An uninitialised device array with the shape, dtype and layout of another."""
    return DeviceNDArray._of(_allocate_like(ary), stream)


def pinned_array(shape, dtype=np.float64, strides=None, order="C") -> np.ndarray:
    """A host array in page-locked memory (ordinary memory here)."""
    return _allocate(shape, dtype, strides, order)


def pinned_array_like(ary: Any) -> np.ndarray:
    return _allocate_like(ary)


def mapped_array(shape, dtype=np.float64, strides=None, order="C", stream=0, portable=False, wc=False) -> MappedNDArray:
    """A host array that kernels read and write in place."""
    return _allocate(shape, dtype, strides, order).view(MappedNDArray)


def mapped_array_like(ary: Any, stream=0, portable=False, wc=False) -> MappedNDArray:
    return _allocate_like(ary).view(MappedNDArray)


def managed_array(shape, dtype=np.float64, strides=None, order="C", stream=0, attach_global=True) -> MappedNDArray:
    """An array that host and kernels share."""
    return _allocate(shape, dtype, strides, order).view(MappedNDArray)


@contextlib.contextmanager
def pinned(*arylist: np.ndarray) -> Iterator[None]:
    """Page-lock host arrays for a while (nothing to do here)."""
    yield


@contextlib.contextmanager
def mapped(*arylist: np.ndarray, **options: Any) -> Iterator[Any]:
    """Device arrays that share the memory of host arrays for a while."""
    if set(options) - {"stream"}:
        raise ArrayTypeError("cuda.mapped takes host arrays and stream= only")
    devices = [DeviceNDArray._of(ary.view(np.ndarray), options.get("stream", 0)) for ary in arylist]
    yield devices[0] if len(devices) == 1 else devices


def is_cuda_ndarray(obj: Any) -> bool:
    """Whether it is a device array of this machine."""
    return bool(getattr(obj, "__cuda_ndarray__", False)) and hasattr(obj, "__gpukit_array__")


def is_cuda_array(obj: Any) -> bool:
    """Whether it has `__cuda_array_interface__`."""
    return hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """A device array over the memory of any object with `__cuda_array_interface__`."""
    if not is_cuda_array(obj):
        raise ArrayTypeError(f"a {type(obj).__name__} does not implement the cuda array interface; use cuda.to_device")
    return from_cuda_array_interface(obj.__cuda_array_interface__, owner=obj, sync=sync)


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> DeviceNDArray:
    """A device array over described memory. Only memory of this machine's own device arrays can be described."""
    if desc.get("mask") is not None:
        raise DeviceArrayUnsupported("Masked arrays are not supported by the cuda array interface")
    dtype, shape = np.dtype(desc["typestr"]), tuple(desc["shape"])
    strides = desc.get("strides")
    address = desc["data"][0]
    if 0 in shape:
        return DeviceNDArray._of(np.empty(shape, dtype))
    for base, block in list(_memory.items()):
        if base <= address < base + block.nbytes:
            view = np.ndarray(shape, dtype, buffer=block.data, offset=address - base, strides=strides)
            return DeviceNDArray._of(view, desc.get("stream") or 0)
    raise RefusedError(
        "the memory described here lies on a real GPU; copy it to the host before using it on this machine"
    )


def from_array_like(ary: Any, stream=0) -> DeviceNDArray:
    """An uninitialised device array of the shape, strides and dtype of another."""
    return DeviceNDArray(ary.shape, ary.strides, ary.dtype, stream)


# --- checks and allocation -------------------------------------------------------------------------------------------


def check_contiguous(array: np.ndarray) -> None:
    """Raise ArrayLayoutError unless the array, broadcast axes aside, is one stretch of memory."""
    core = _without_broadcast(array)
    if not core.flags.c_contiguous and not core.flags.f_contiguous:
        raise ArrayLayoutError(NOT_CONTIGUOUS)


def _without_broadcast(array: np.ndarray) -> np.ndarray:
    if not array.strides or not array.size:
        return array
    return array[tuple(0 if stride == 0 else slice(None) for stride in array.strides)]


def _check_compatible(device: np.ndarray, host: np.ndarray) -> None:
    if device.dtype != host.dtype:
        raise ArrayTypeError(f"incompatible dtype: {device.dtype} vs. {host.dtype}; convert with astype first")
    device_core, host_core = device.squeeze(), host.squeeze()
    if device_core.shape != host_core.shape:
        raise ArrayLayoutError(f"incompatible shape: {device.shape} vs. {host.shape}")
    if device_core.size and device_core.strides != host_core.strides:
        raise ArrayLayoutError(f"incompatible strides: {device.strides} vs. {host.strides}")


def _has_slice(item: Any) -> bool:
    parts = item if isinstance(item, tuple) else (item,)
    return any(isinstance(part, slice) or part is Ellipsis for part in parts)


def _index(array: np.ndarray, item: Any) -> np.ndarray:
    """The addressed part of `array` as a view, of no axes for an element."""
    parts = item if isinstance(item, tuple) else (item,)
    for part in parts:
        if not isinstance(part, (int, np.integer, slice)) and part is not Ellipsis:
            raise ArrayTypeError(
                f"a device array is indexed with integers and slices, not with a {type(part).__name__}; "
                "copy_to_host() first"
            )
    try:
        return array[item if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)]
    except IndexError as error:
        raise ArrayIndexError(f"device array of shape {array.shape}: {error}") from None


def _allocate(shape, dtype=np.float64, strides=None, order="C") -> np.ndarray:
    """Poisoned memory of its own, seen as an array."""
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    for length in shape:
        if not isinstance(length, (int, np.integer)):
            raise ArrayTypeError(f"shape elements must be integers, got {type(length).__name__}")
    if any(length < 0 for length in shape):
        raise ArrayLayoutError(f"an array cannot have the shape {shape}")
    if dtype.hasobject:
        raise ArrayTypeError(f"device memory holds numbers and records of them, not {dtype}")
    if strides is None:
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    else:
        strides = (strides,) if isinstance(strides, int) else tuple(strides)
        if len(strides) != len(shape):
            raise ArrayLayoutError("strides not match ndim: one stride per axis is needed")
        nbytes = (
            dtype.itemsize + sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True)) if all(shape) else 0
        )
    try:
        block = np.full(nbytes, POISON_BYTE, np.uint8)
    except MemoryError:
        raise ArrayLayoutError(f"an array of shape {shape} needs {nbytes:,} bytes; this machine has less") from None
    if nbytes:
        _memory[block.ctypes.data] = block
    offset = 0 if strides is None else sum((1 - n) * s for n, s in zip(shape, strides, strict=True) if s < 0 and n)
    return np.ndarray(shape, dtype, buffer=block, strides=strides, offset=offset, order=order)


def _allocate_like(ary: Any) -> np.ndarray:
    array = getattr(ary, "__gpukit_array__", ary)
    like = np.empty_like(array, subok=False) if array.size else array
    return _allocate(array.shape, array.dtype, like.strides if array.size else None)


def allocated_bytes() -> int:
    """Bytes of all device arrays that are alive."""
    return sum(block.nbytes for block in list(_memory.values()))
