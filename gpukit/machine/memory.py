"""Memory: the address map, and bytes behind it.

Global memory is the user's own arrays, each given a virtual base address (a multiple of 256, in the order of first
use), so counts do not depend on where the host happened to put them. Shared and local memory live for one wave; they
start as poison, never as zero, because that is what a GPU gives.
"""

from __future__ import annotations

import numpy as np

from gpukit.errors import LaunchError
from gpukit.machine.program import GLOBAL_BASE, LOCAL_BASE, SHARED, SHARED_BASE, Allocation, Launch

ALIGNMENT = 256
# A NaN as float16 (upper half), float32 and float64, and a conspicuous number as an integer.
POISON = np.uint32(0x7FFDEAD1)


def aligned(offset: np.ndarray | np.integer, size: int) -> bool:
    """Whether all byte offsets (or addresses) are multiples of `size`, a power of two; False for other sizes."""
    if size & (size - 1):
        return False
    bits = np.bitwise_or.reduce(offset) if isinstance(offset, np.ndarray) else offset
    return not bits & (size - 1)


def extent(launch: Launch, number: int) -> tuple[int, int]:
    """(start, end) of the virtual addresses of a root: an array of the launch, or a shared or local array."""
    root = launch.program.roots[number]
    allocation = launch.allocations[number] if number < len(launch.allocations) else None
    if allocation is not None:
        return allocation.base, allocation.base + allocation.nbytes
    if root.dynamic:
        start = SHARED_BASE + launch.program.static_shared_bytes
        return start, start + launch.shared_bytes
    start = (SHARED_BASE if root.space == SHARED else LOCAL_BASE) + root.offset
    return start, start + root.nbytes


class Segment:
    """Bytes that are read and written at byte offsets, as any dtype."""

    __slots__ = ("_views", "data")

    def __init__(self, data: np.ndarray):
        self.data = data
        self._views: dict[np.dtype, np.ndarray] = {}

    def view(self, dtype: np.dtype) -> np.ndarray:
        """The segment as a 1-D array of dtype (a tail too short for one element is left out)."""
        view = self._views.get(dtype)
        if view is None:
            whole = self.data.size // dtype.itemsize * dtype.itemsize
            view = self._views[dtype] = self.data[:whole].view(dtype)
        return view

    def read(self, offset: np.ndarray | np.integer, dtype: np.dtype) -> np.ndarray | np.generic:
        """Values at byte offsets (int64 (n,) or scalar)."""
        size = dtype.itemsize
        if aligned(offset, size):
            return self.view(dtype)[offset >> (size.bit_length() - 1)]
        if not isinstance(offset, np.ndarray):
            return self.data[int(offset) : int(offset) + size].copy().view(dtype)[0]
        return self.data[offset[:, None] + np.arange(size)].view(dtype)[:, 0]

    def write(self, offset: np.ndarray | np.integer, value: np.ndarray | np.generic, dtype: np.dtype) -> None:
        """Store; where lanes share an offset the last lane's value stays."""
        size = dtype.itemsize
        if aligned(offset, size):
            self.view(dtype)[offset >> (size.bit_length() - 1)] = value
        elif not isinstance(offset, np.ndarray):
            self.data[int(offset) : int(offset) + size] = np.asarray(value, dtype).reshape(1).view(np.uint8)
        else:
            raw = np.broadcast_to(np.asarray(value, dtype), offset.shape).copy().view(np.uint8)
            self.data[offset[:, None] + np.arange(size)] = raw.reshape(offset.size, size)


def poisoned(nbytes: int) -> np.ndarray:
    """Fresh shared or local memory, uint8 (nbytes rounded up to 16,)."""
    return np.full(-(-nbytes // 16) * 4, POISON, np.uint32).view(np.uint8)


def flat_bytes(array: np.ndarray) -> np.ndarray:
    """The memory of a contiguous array (C or Fortran order) as uint8 (nbytes,), sharing it."""
    if array.size == 0:
        return np.empty(0, np.uint8)
    array = np.asarray(array)  # a subclass may index in another way
    flat = array.reshape(1) if array.ndim == 0 else array.ravel(order="K")
    if not np.shares_memory(flat, array):
        raise LaunchError("an array argument is not contiguous; pass np.ascontiguousarray(array)")
    return flat.view(np.uint8)


class GlobalMemory:
    """The global address space of one launch."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self._pointers: list[tuple[int, int]] = []
        self._next = GLOBAL_BASE

    def allocate(
        self, array: np.ndarray, owner: np.ndarray | None = None, name: str = "", base: int | None = None
    ) -> Allocation:
        """The allocation that holds `array`: its own, or that of `owner` when it is a slice of a device array.

        An array that lies inside memory already allocated (passed twice, say) gets that allocation. `base` is the
        virtual address of the first byte, where the caller gives addresses (see `addresses`).
        """
        root = array if owner is None else owner
        start = root.__array_interface__["data"][0]
        for allocation, (low, high) in zip(self.allocations, self._pointers, strict=True):
            if root.nbytes and low <= start and start + root.nbytes <= high:
                return allocation
        allocation = Allocation(
            name,
            self._next if base is None else base,
            flat_bytes(root),
            root.shape,
            root.dtype,
            readonly=not root.flags.writeable,
        )
        self.allocations.append(allocation)
        self._pointers.append((start, start + root.nbytes))
        if base is None:
            self._next += -(-max(1, root.nbytes) // ALIGNMENT) * ALIGNMENT + ALIGNMENT
        return allocation

    def address_of(self, array: np.ndarray, allocation: Allocation) -> int:
        """Virtual address of the first element of an array inside an allocation."""
        low = self._pointers[self.allocations.index(allocation)][0]
        return allocation.base + (array.__array_interface__["data"][0] - low if array.size else 0)
