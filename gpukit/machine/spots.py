"""A spot is where the lanes of one access go: one stretch of memory, and for each lane a place in it.

Compiled code computes few addresses and uses each often, at constant distances: a tile's row is read at [%r1],
[%r1+4], [%r1+8] and so on. So what is known of a register's addresses (`Pointers`) is kept while the register and the
lanes stay the same: limits, alignment, indices into memory, wavefronts and sectors, which a constant distance only
shifts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpukit.machine.counters import (
    BANK_BYTES,
    SECTOR_BYTES,
    count_atomic_sectors,
    count_sectors,
    count_wavefronts,
    max_lanes_on_one_address,
)
from gpukit.machine.lanes import LaneSet
from gpukit.machine.memory import Segment
from gpukit.machine.program import LOCAL, SHARED, Allocation

# One value per active lane (np.ndarray) or one for all of them (np.generic); NumPy's stubs cannot type the mixture.
Lanewise = Any


class Spot:
    """Places in one segment, lane by lane.

    `address` and `offset` are the virtual address and the byte offset in the segment, int64 (n,) or one for all lanes.
    """

    __slots__ = ("address", "allocation", "lanes", "offset", "segment", "space")

    def __init__(
        self,
        segment: Segment,
        space: str,
        allocation: Allocation | None,
        lanes: LaneSet,
        address: Lanewise,
        offset: Lanewise,
    ):
        self.segment = segment
        self.space = space
        self.allocation = allocation  # of global and constant memory
        self.lanes = lanes
        self.address = address
        self.offset = offset

    def read(self, dtype: np.dtype, k: int = 1) -> tuple[Lanewise, ...]:
        """k consecutive values of each lane."""
        size = dtype.itemsize
        return tuple(self.segment.read(self.offset + i * size if i else self.offset, dtype) for i in range(k))

    def write(self, values: tuple[Lanewise, ...], dtype: np.dtype) -> None:
        """Consecutive values of each lane; where lanes share a place the last lane's stay."""
        for i, value in enumerate(values):
            where = self.offset + i * dtype.itemsize if i else self.offset
            if not isinstance(where, np.ndarray) and isinstance(value, np.ndarray):
                value = value[-1]
            self.segment.write(where, value, dtype)

    def place(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """(memory as a 1-D array of dtype, the index in it of each lane, int64 (n,))."""
        index = np.asarray(self.offset // dtype.itemsize)
        return self.segment.view(dtype), np.broadcast_to(index, (self.lanes.n,))

    def sectors(self, width: int, shift: int = 0) -> int:
        """Sectors that an access of `width` bytes a lane touches, `shift` bytes behind the spot."""
        return count_sectors(self.address + shift if shift else self.address, width, self.lanes)

    def wavefronts(self, width: int, load: bool, shift: int = 0) -> tuple[int, int]:
        """As `count_wavefronts`, for an access `shift` bytes behind the spot."""
        return count_wavefronts(self.address + shift if shift else self.address, width, self.lanes, load)

    def atomic_sectors(self, together: str) -> int:
        """Sectors of an atomic, summed over its warps."""
        return count_atomic_sectors(self.address, self.lanes, together)

    def contention(self, together: str) -> int:
        """The most lanes of one warp that do an atomic at one address."""
        return max_lanes_on_one_address(self.address, self.lanes, together)


class Window:
    """Memory that an access may reach: virtual addresses `start` to `end` of what begins at `base`.

    Of shared and local memory every block and thread has its own at the same addresses; `stride` is how many bytes of
    the segment each takes.
    """

    __slots__ = ("allocation", "base", "end", "segment", "space", "start", "stride")

    def __init__(
        self,
        segment: Segment,
        space: str,
        base: int,
        limits: tuple[int, int],
        stride: int = 0,
        allocation: Allocation | None = None,
    ):
        self.segment = segment
        self.space = space
        self.base = base
        self.start, self.end = limits
        self.stride = stride
        self.allocation = allocation

    def offset(self, address: Lanewise, lanes: LaneSet) -> Lanewise:
        """Byte offsets in the segment."""
        offset = address - self.base
        if self.space == SHARED and lanes.wave.n_blocks > 1:
            return offset + lanes.blocks * self.stride
        if self.space == LOCAL:
            return offset + lanes.lanes * self.stride
        return offset


class Pointers:
    """The addresses in a register for one lane set, and what was found out about them."""

    __slots__ = ("address", "counts", "first", "high", "indices", "lanes", "low", "varying")

    def __init__(self, address: Lanewise, lanes: LaneSet):
        self.address = address
        self.lanes = lanes
        if isinstance(address, np.ndarray):
            self.low, self.high, self.first = int(address.min()), int(address.max()), int(address[0])
            # Bits in which any two lanes differ: with the first address they say how all are aligned.
            self.varying = int(np.bitwise_or.reduce(address ^ address[0]))
        else:
            self.low = self.high = self.first = int(address)
            self.varying = 0
        self.indices: dict[tuple[int, int], Lanewise] = {}
        self.counts: dict[tuple, Any] = {}

    def fits(self, window: Window, distance: int, width: int) -> bool:
        """Whether `width` aligned bytes at a distance from every address lie in the window, counted in units of
        that size from its base on. `width` is a power of 2."""
        return (
            self.low + distance >= window.start
            and self.high + distance + width <= window.end
            and not (self.varying | (self.first + distance) | window.base) & (width - 1)
        )

    def index(self, window: Window, size: int) -> Lanewise:
        """Number of the unit of `size` bytes (a power of 2) that each address falls in, counted in the segment."""
        key = (window.base, size)
        found = self.indices.get(key)
        if found is None:
            found = window.offset(self.address, self.lanes) >> (size.bit_length() - 1)
            self.indices[key] = found
        return found


class PointerSpot(Spot):
    """A spot at a constant distance from pointers, aligned to the whole access and inside its window."""

    __slots__ = ("distance", "pointers", "window")

    def __init__(self, pointers: Pointers, window: Window, distance: int):
        self.pointers = pointers
        self.window = window
        self.distance = distance
        self.segment = window.segment
        self.space = window.space
        self.allocation = window.allocation
        self.lanes = pointers.lanes

    @property
    def address(self) -> Lanewise:
        return self.pointers.address + self.distance if self.distance else self.pointers.address

    @property
    def offset(self) -> Lanewise:
        offset = self.pointers.index(self.window, 1)
        return offset + self.distance if self.distance else offset

    def place(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """As `Spot.place`."""
        view, index = self._rows(dtype, dtype.itemsize)
        return view, np.broadcast_to(np.asarray(index), (self.lanes.n,))

    def _rows(self, dtype: np.dtype, width: int) -> tuple[np.ndarray, Lanewise]:
        """(units of `width` bytes as rows of dtype, or as plain values; the row of each lane)."""
        pointers, window = self.pointers, self.window
        rows = self.segment.view(dtype)
        if width != dtype.itemsize:
            k = width // dtype.itemsize
            rows = rows[: rows.size // k * k].reshape(-1, k)
        index = pointers.index(window, width)
        # All lanes are at one distance from a multiple of the width, and end up on one.
        step = (self.distance + (pointers.first & (width - 1))) >> (width.bit_length() - 1)
        if step > 0 and pointers.low >= window.base:
            return rows[step:], index
        return rows, index + step if step else index

    def read(self, dtype: np.dtype, k: int = 1) -> tuple[Lanewise, ...]:
        """As `Spot.read`."""
        rows, index = self._rows(dtype, k * dtype.itemsize)
        if not isinstance(index, np.ndarray):
            found = rows[index]
            return (found,) if k == 1 else tuple(found)
        found = rows.take(index, axis=0)
        return (found,) if k == 1 else tuple(found[:, i] for i in range(k))

    def write(self, values: tuple[Lanewise, ...], dtype: np.dtype) -> None:
        """As `Spot.write`."""
        k = len(values)
        rows, index = self._rows(dtype, k * dtype.itemsize)
        if not isinstance(index, np.ndarray):
            last = [value[-1] if isinstance(value, np.ndarray) else value for value in values]
            rows[index] = last[0] if k == 1 else last
        elif k == 1:
            rows[index] = values[0]
        else:
            whole = np.empty((index.size, k), dtype)
            for column, value in enumerate(values):
                whole[:, column] = value
            rows[index] = whole

    # A distance of whole sectors, or of whole words, changes no count.

    def sectors(self, width: int, shift: int = 0) -> int:
        """As `Spot.sectors`."""
        key = ("sectors", width, (self.distance + shift) % SECTOR_BYTES)
        return self._count(key, lambda: Spot.sectors(self, width, shift))

    def wavefronts(self, width: int, load: bool, shift: int = 0) -> tuple[int, int]:
        """As `Spot.wavefronts`."""
        key = ("wavefronts", width, load, (self.distance + shift) % max(BANK_BYTES, width))
        return self._count(key, lambda: Spot.wavefronts(self, width, load, shift))

    def atomic_sectors(self, together: str) -> int:
        """As `Spot.atomic_sectors`."""
        key = ("atomic sectors", self.distance % SECTOR_BYTES, together)
        return self._count(key, lambda: Spot.atomic_sectors(self, together))

    def contention(self, together: str) -> int:
        """As `Spot.contention`."""
        return self._count(("contention", together), lambda: Spot.contention(self, together))

    def _count(self, key: tuple, count: Callable[[], Any]) -> Any:
        counts = self.pointers.counts
        if key not in counts:
            counts[key] = count()
        return counts[key]
