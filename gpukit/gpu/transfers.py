"""NumPy arrays as arguments of a launch on a GPU: copied there, and back when the kernel has run.

Arrays that share memory share it on the GPU too: a view and its array, two views that overlap. Each lies as it lies in
the array it is a view of, so that a launch touches the same sectors on both machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from gpukit.errors import KernelTypeError
from gpukit.gpu.errors import first_line
from gpukit.machine.addresses import first_byte, owner_of
from gpukit.machine.frontends.arguments import as_numpy

# As far as it matters where in memory an array begins: the alignment of what CUDA allocates.
ALIGNMENT_BYTES = 256


@dataclass(slots=True)
class DeviceArray:
    """An array in GPU memory. `owner` keeps the memory; `layout` is numba's: "C", "F" or "A" for neither."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    layout: str
    readonly: bool
    owner: Any


def is_host_array(value: object) -> bool:
    """Whether an argument is an array in the host's memory."""
    return as_numpy(value) is not None


def is_device_array(value: object) -> bool:
    """Whether an argument is an array of a library that keeps arrays in GPU memory: CuPy, PyTorch, numba-cuda."""
    # Asked of the class: CuPy makes the description anew each time it is looked at.
    return hasattr(type(value), "__cuda_array_interface__") and not is_host_array(value)


def host_arrays(args: Iterable[Any]) -> Iterator[Any]:
    """The arguments that are arrays in the host's memory, those in tuples too."""
    for value in args:
        if isinstance(value, tuple):
            yield from host_arrays(value)
        elif is_host_array(value):
            yield value


class Copies:
    """Copies on the GPU of the arrays of the host among the arguments of one launch.

    Raises KernelTypeError for an array of Python objects.
    """

    def __init__(self, args: Iterable[Any], cupy: Any):
        self._values = list(host_arrays(args))  # `_made` names them by id
        arrays = {id(value): array for value in self._values if (array := as_numpy(value)) is not None}
        self._groups = [_Group(members, cupy) for members in _overlapping(arrays)]
        self._made = {key: group.of(array) for group in self._groups for key, array in group.members.items()}

    def __bool__(self) -> bool:
        return bool(self._values)

    def of(self, value: Any) -> DeviceArray:
        """The copy of one of the arguments."""
        return self._made[id(value)]

    def back(self) -> None:
        """Copy to the host what the launch may have changed; waits for the launch."""
        for group in self._groups:
            group.back()


Arrays = dict[int, np.ndarray]  # by the id of the argument


def _overlapping(arrays: Arrays) -> list[Arrays]:
    """The arrays in groups that share no byte with each other."""
    groups: list[Arrays] = []
    end = 0
    for key, array in sorted(arrays.items(), key=lambda item: _bounds(item[1])):
        if array.dtype.hasobject:
            raise KernelTypeError("an argument is an array of Python objects: convert it, for example to float64")
        low, high = _bounds(array)
        if not groups or low >= end:
            groups.append({})
        groups[-1][key] = array
        end = max(end, high)
    return groups


def _bounds(array: np.ndarray) -> tuple[int, int]:
    """The host's addresses of an array's first byte and of that after its last; (0, 0) if it is empty."""
    return byte_bounds(array) if array.size else (0, 0)


class _Group:
    """Arrays that share memory, and their part of the GPU's memory."""

    def __init__(self, members: Arrays, cupy: Any):
        self.members = members
        first = min(members.values(), key=_bounds)
        self._low = _bounds(first)[0]
        self._nbytes = max(_bounds(array)[1] for array in members.values()) - self._low
        before = (self._low - first_byte(owner_of(first))) % ALIGNMENT_BYTES if self._nbytes else 0
        self._memory = cupy.empty(before + self._nbytes, np.uint8)[before:]
        if self._nbytes:
            self._memory.set(self._on_host(readonly=True))

    def _on_host(self, readonly: bool) -> np.ndarray:
        """The bytes of all members and what lies between them, uint8 (nbytes,)."""
        return np.asarray(_Bytes(self._low, self._nbytes, readonly))

    def of(self, array: np.ndarray) -> DeviceArray:
        """The copy of a member."""
        address = self._memory.data.ptr + (first_byte(array) - self._low if array.size else 0)
        readonly = not array.flags.writeable
        return DeviceArray(
            address, array.shape, array.strides, array.dtype, layout_of(array), readonly, owner=self._memory
        )

    def back(self) -> None:
        """Copy to the host what is not read-only."""
        written = [array for array in self.members.values() if array.size and array.flags.writeable]
        if not written:
            return
        if len(self.members) == 1 and written[0].flags.forc:
            self._memory.get(out=self._on_host(readonly=False))
            return
        found = self._memory.get()  # the bytes in between are somebody else's
        for array in written:
            offset = first_byte(array) - self._low
            array[...] = np.ndarray(array.shape, array.dtype, found, offset, array.strides)


class _Bytes:
    """Memory of the host as an array of bytes, by its address."""

    def __init__(self, address: int, nbytes: int, readonly: bool):
        self.__array_interface__ = {"data": (address, readonly), "shape": (nbytes,), "typestr": "|u1", "version": 3}


def layout_of(array: Any) -> str:
    """numba's layout of a NumPy or CuPy array: an array that repeats itself (a stride of 0) is neither C nor F."""
    flags = array.flags
    if array.size and 0 in array.strides:
        return "A"
    return "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"


def on_device(value: Any, cupy: Any) -> DeviceArray:
    """An array that is in GPU memory already, as it is. Raises KernelTypeError for one that is not."""
    array = value if isinstance(value, cupy.ndarray) else _as_cupy(value, cupy)
    return DeviceArray(
        array.data.ptr, array.shape, array.strides, array.dtype, layout_of(array), readonly=False, owner=array
    )


def _as_cupy(value: Any, cupy: Any) -> Any:
    try:
        value.__cuda_array_interface__  # noqa: B018  # PyTorch raises if a tensor is in the host's memory, or needs a gradient
    except Exception as error:
        raise KernelTypeError(
            f"an argument is a {type(value).__name__} that is not in GPU memory or may not be used there "
            f"({first_line(error)}): pass a CuPy or NumPy array of it"
        ) from None
    return cupy.asarray(value)


def exchanged(args: tuple[Any, ...], array: Callable[[Any], Any]) -> tuple[Any, ...]:
    """The arguments with each array, on the host or on the device, replaced by what `array` makes of it."""
    return tuple(_exchanged(value, array) for value in args)


def _exchanged(value: Any, array: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        items = [_exchanged(item, array) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return array(value) if is_host_array(value) or is_device_array(value) else value
