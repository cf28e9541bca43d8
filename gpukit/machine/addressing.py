"""Where accesses go: index to byte address, every axis checked; address to a segment of memory and an offset in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.machine.lanes import LaneSet, Wave
from gpukit.machine.memory import Segment, poisoned
from gpukit.machine.program import (
    GENERIC,
    GLOBAL,
    GLOBAL_BASE,
    LOCAL,
    LOCAL_BASE,
    SHARED,
    SHARED_BASE,
    Address,
    Allocation,
    Atomic,
    Element,
    Launch,
    Load,
    Store,
)

if TYPE_CHECKING:
    from gpukit.machine.codegen import Compiled
    from gpukit.machine.counters import Counts
    from gpukit.machine.hazards import HazardTracker

# One value per active lane (np.ndarray) or one for all of them (np.generic); NumPy's stubs cannot type the mixture.
Lanewise = Any


class Addressing:
    """The address half of a wave's memory."""

    L: LaneSet

    def __init__(self, launch: Launch, wave: Wave, compiled: Compiled, counts: Counts, tracker: HazardTracker | None):
        self.launch = launch
        self.wave = wave
        self.compiled = compiled
        self.counts = counts
        self.tracker = tracker
        program = launch.program
        self.shared_bytes = -(-(program.static_shared_bytes + launch.shared_bytes) // 16) * 16
        self.local_bytes = -(-program.local_bytes // 16) * 16
        self.shared = Segment(poisoned(self.shared_bytes * wave.n_blocks))
        self.local = Segment(poisoned(self.local_bytes * wave.n_lanes))
        self.segments: dict[int, Segment] = {}
        found = {a.base: a for a in launch.allocations if a is not None}
        self._by_address = [found[base] for base in sorted(found)]  # all global memory
        self._asked: tuple = ()
        self._answer: tuple = ()

    # --- where -------------------------------------------------------------------------------------------------

    def element(
        self, op: Load | Store | Atomic, base: Lanewise, index: tuple, shape: tuple, strides: tuple
    ) -> tuple[Lanewise, LaneSet | None]:
        """(byte address per lane, the lanes that access). Lanes outside an axis are left out and reported."""
        place = op.place
        assert isinstance(place, Element)
        # `a[i] += v` has the same index objects in its load and its store: compute once.
        asked = (base, self.L, place.offset, *index, *shape, *strides)
        if _same(self._asked, asked):
            return self._answer
        address: Lanewise = base
        for i, n, stride in zip(index, shape, strides, strict=True):
            if isinstance(n, np.ndarray):
                if not ((i >= 0) & (i < n)).all():
                    break
            elif isinstance(i, np.ndarray):
                if int(i.view(np.uint64).max()) >= n:  # a negative index is a huge unsigned one
                    break
            elif not 0 <= i < n:
                break
            step = i * stride
            if isinstance(step, np.ndarray):
                step += address  # in place: `step` is nobody else's
                address = step
            else:
                address = address + step
        else:
            if place.offset:
                address = address + place.offset
            self._asked = asked
            self._answer = (address, self.L)
            return self._answer
        return self._careful_element(op, place, base, index, shape, strides)

    def _careful_element(
        self, op: Load | Store | Atomic, place: Element, base: Lanewise, index: tuple, shape: tuple, strides: tuple
    ) -> tuple[Lanewise, LaneSet | None]:
        """The general case: some lane has a negative or outside index."""
        n_lanes = self.L.n
        address = np.broadcast_to(np.asarray(base, np.int64), (n_lanes,)) + place.offset
        outside = np.zeros(n_lanes, bool)
        negative = np.zeros(n_lanes, bool)
        axes = []
        for i, n, stride in zip(index, shape, strides, strict=True):
            i = np.broadcast_to(np.asarray(i, np.int64), (n_lanes,))
            axes.append(i)
            below = i < 0
            wrapped = np.where(below, i + n, i)
            negative |= below
            outside |= (wrapped < 0) | (wrapped >= n)
            address = address + wrapped * stride
        if self.tracker is not None:
            kind = "read" if isinstance(op, Load) else "write"
            if negative.any():
                self.tracker.negative_index(op, self.L.subset(negative), [i[negative] for i in axes], _plain(shape))
            if outside.any():
                self.tracker.out_of_bounds(op, self.L.subset(outside), [i[outside] for i in axes], _plain(shape), kind)
        if outside.all():
            return address, None
        if not any(isinstance(o, np.ndarray) for o in (base, *index, *shape, *strides)):
            return address[0], self.L  # one element for all: what is loaded must be one value too
        if not outside.any():
            return address, self.L
        keep = ~outside
        return address[keep], self.L.subset(keep)

    # --- addresses ---------------------------------------------------------------------------------------------

    def _locate(self, op: Load | Store | Atomic, address: Lanewise, lanes: LaneSet) -> tuple[Segment, Lanewise, str]:
        """(segment, byte offsets in it, space) of an access."""
        space = op.space
        if space == GENERIC:
            space = _space_of(int(address.flat[0]) if isinstance(address, np.ndarray) else int(address))
        if space == SHARED:
            return self.shared, address - SHARED_BASE + self._block_start(lanes), space
        if space == LOCAL:
            return self.local, address - LOCAL_BASE + lanes.lanes * self.local_bytes, space
        allocation = self._allocation(op, address)
        segment = self.segments.get(allocation.base)
        if segment is None:
            segment = self.segments[allocation.base] = Segment(allocation.data)
        return segment, address - allocation.base, GLOBAL

    def _homes(self, op: Load | Store | Atomic, address: Lanewise) -> np.ndarray | None:
        """Which memory each lane goes to, where lanes of one access go to several (arrays chosen by a condition):
        the number of the allocation, -1 for shared and -2 for local memory. None in the usual case of one for all."""
        if not isinstance(address, np.ndarray) or (op.root is not None and op.space != GENERIC):
            return None
        bases = np.array([a.base for a in self._by_address] or [GLOBAL_BASE])
        homes = np.searchsorted(bases, address, side="right") - 1
        homes[address < GLOBAL_BASE] = -2
        homes[address < LOCAL_BASE] = -1
        return homes if (homes != homes[0]).any() else None

    def _parts(
        self, slot: int, address: np.ndarray, lanes: LaneSet, homes: np.ndarray
    ) -> Iterator[tuple[LaneSet, np.ndarray]]:
        """(lanes, addresses) for each memory. A warp's access to global memory is one request, however many arrays it
        goes to."""
        which = np.unique(homes)
        parts = [(lanes.subset(homes == home), address[homes == home]) for home in which]
        if (homes >= 0).any():
            several = sum(part.n_warps for (part, _), home in zip(parts, which, strict=True) if home >= 0)
            self.counts.of(slot, GLOBAL).requests -= several - lanes.subset(homes >= 0).n_warps
        yield from parts

    def _block_start(self, lanes: LaneSet) -> Lanewise:
        if self.wave.n_blocks == 1:
            return np.int64(0)
        return lanes.blocks * self.shared_bytes

    def _allocation(self, op: Load | Store | Atomic, address: Lanewise) -> Allocation:
        """The allocation an access goes to: its root's, or found by address where the program cannot know."""
        if op.root is not None:
            allocation = self.launch.allocations[op.root]
            assert allocation is not None
            return allocation
        low = int(address.min()) if isinstance(address, np.ndarray) else int(address)
        return next(a for a in self._by_address if a.base <= low < a.base + max(1, a.nbytes))

    def _inside(self, op: Load | Store | Atomic, address: Lanewise) -> tuple[Lanewise, LaneSet | None]:
        """Raw addresses: keep the lanes whose bytes lie in memory that exists."""
        assert isinstance(op.place, Address)
        if op.place.offset:
            address = address + op.place.offset
        width = op.dtype.itemsize * (
            len(op.dst) if isinstance(op, Load) else len(op.src) if isinstance(op, Store) else 1
        )
        low, high = _limits(address)
        for start, end in self._extents(op):
            if start <= low and high + width <= end:
                return address, self.L
        spread = np.broadcast_to(np.asarray(address), (self.L.n,))
        good = np.zeros(self.L.n, bool)
        for start, end in self._extents(op):
            good |= (spread >= start) & (spread + width <= end)
        if self.tracker is not None and not good.all():
            kind = "read" if isinstance(op, Load) else "write"
            self.tracker.out_of_bounds(op, self.L.subset(~good), [spread[~good]], (), kind)
        if good.all():
            return spread, self.L
        return (spread[good], self.L.subset(good)) if good.any() else (address, None)

    def _extents(self, op: Load | Store | Atomic) -> list[tuple[int, int]]:
        """(start, end) of the memory an access may reach."""
        extents: list[tuple[int, int]] = []
        if op.space in (SHARED, GENERIC):
            program = self.launch.program
            extents.append((SHARED_BASE, SHARED_BASE + program.static_shared_bytes + self.launch.shared_bytes))
        if op.space in (LOCAL, GENERIC):
            extents.append((LOCAL_BASE, LOCAL_BASE + self.launch.program.local_bytes))
        if op.space in (GLOBAL, GENERIC):
            extents += [(a.base, a.base + a.nbytes) for a in self._by_address]
        return extents


def _same(seen: tuple, now: tuple) -> bool:
    """Whether an access has the very vectors, and equal scalars, of the one before."""
    return len(seen) == len(now) and all(
        a is b or not (isinstance(a, np.ndarray) or isinstance(b, np.ndarray) or a != b)
        for a, b in zip(seen, now, strict=True)
    )


def _plain(shape: tuple) -> tuple[int, ...]:
    """A shape as Python ints (of the first lane, where lanes differ)."""
    return tuple(int(n.flat[0]) if isinstance(n, np.ndarray) else int(n) for n in shape)


def _space_of(address: int) -> str:
    if address >= GLOBAL_BASE:
        return GLOBAL
    return LOCAL if address >= LOCAL_BASE else SHARED


def _limits(address: Lanewise) -> tuple[int, int]:
    if isinstance(address, np.ndarray):
        return int(address.min()), int(address.max())
    return int(address), int(address)
