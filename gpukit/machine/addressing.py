"""Where accesses go: index to byte address, every axis checked; address to memory, its limits and alignment checked."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.lanes import LaneSet, Wave
from gpukit.machine.memory import Segment, extent, poisoned
from gpukit.machine.program import (
    CONSTANT,
    GENERIC,
    GLOBAL,
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
from gpukit.machine.spots import Lanewise, Pointers, PointerSpot, Spot, Window

if TYPE_CHECKING:
    from gpukit.machine.codegen import Compiled
    from gpukit.machine.counters import Counts
    from gpukit.machine.hazards import HazardTracker

# Registers whose addresses are remembered, at about a megabyte each.
POINTERS_KEPT = 32


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
        self.roots = program.roots
        self._make_windows()
        self._pointers: dict[int, Pointers] = {}
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

    def element_spots(
        self, op: Load | Store | Atomic, slot: int, base: Lanewise, index: tuple, shape: tuple, strides: tuple
    ) -> tuple[Spot, ...]:
        """Where the lanes of an element access go, by the memory they go to: one spot in the usual case."""
        address, lanes = self.element(op, base, index, shape, strides)
        if lanes is None:
            return ()
        if (homes := self._homes(op, address)) is None:
            return (self._spot(op, address, lanes),)
        parts = [(lanes.subset(homes == home), address[homes == home]) for home in np.unique(homes)]
        return self._one_request(slot, lanes, [self._spot(op, there, part) for part, there in parts])

    def _homes(self, op: Load | Store | Atomic, address: Lanewise) -> np.ndarray | None:
        """Which memory each lane goes to, where lanes of one access go to several (arrays chosen by a condition):
        the number of its window. None in the usual case of one for all."""
        if not isinstance(address, np.ndarray) or (op.root is not None and op.space != GENERIC):
            return None
        homes = np.searchsorted(self._starts, address, side="right") - 1
        return homes if (homes != homes[0]).any() else None

    def _spot(self, op: Load | Store | Atomic, address: Lanewise, lanes: LaneSet) -> Spot:
        """The spot of lanes that go to one memory; element accesses are inside it."""
        if op.space in self._own_windows:
            window = self._own_windows[op.space]
        elif op.root is not None and (allocation := self.launch.allocations[op.root]) is not None:
            window = self._window_of(allocation)
        else:
            window = self._windows[
                self._number_at(int(address.flat[0] if isinstance(address, np.ndarray) else address))
            ]
        offset = window.offset(address, lanes)
        return Spot(window.segment, _space(op, window), window.allocation, lanes, address, offset)

    def _one_request(self, slot: int, lanes: LaneSet, spots: list[Spot]) -> tuple[Spot, ...]:
        """A warp's access to global memory is one request, however many arrays it goes to."""
        far = [spot for spot in spots if spot.space == GLOBAL]
        if len(far) > 1:
            together = np.sort(np.concatenate([spot.lanes.lanes for spot in far]))
            several = sum(spot.lanes.n_warps for spot in far)
            once = LaneSet(lanes.wave, together).n_warps
            self.counts.of(slot, GLOBAL).requests -= len(self.requests[slot]) * (several - once)
        return tuple(spots)

    # --- raw addresses -----------------------------------------------------------------------------------------

    def spots(self, op: Load | Store | Atomic, slot: int, address: Lanewise) -> tuple[Spot, ...]:
        """Where the lanes go that access aligned memory that exists; the others are left out and reported."""
        pointers = self._pointers_of(address)
        width = self._widths[slot]
        distance = op.place.offset
        window = self._fixed.get(slot)
        if window is None:
            window = self._windows[self._number_at(pointers.low + distance)] if self._windows else None
        if window is not None and pointers.fits(window, distance, width) and self._allowed(op, window):
            spot = PointerSpot(pointers, window, distance)
            spot.space = _space(op, window)
            return (spot,)
        return self._careful_spots(op, slot, pointers, width)

    def _pointers_of(self, address: Lanewise) -> Pointers:
        """What is known of the addresses in a register, remembered as long as register and lanes are the same.

        Vectors that generated code sees are never written to, so one that lies at the same place is the same.
        """
        if not isinstance(address, np.ndarray):
            return Pointers(address, self.L)
        view = address.base is not None  # the register read as another type: each time a new view of the same memory
        key = -address.__array_interface__["data"][0] if view else id(address)
        known = self._pointers
        found = known.get(key)
        if found is not None and found.lanes is self.L:
            seen = found.address
            if seen is address or (view and seen.strides == address.strides and seen.size == address.size):
                return found
        if len(known) >= POINTERS_KEPT and key not in known:
            del known[next(iter(known))]
        found = known[key] = Pointers(address, self.L)
        return found

    def _careful_spots(self, op: Load | Store | Atomic, slot: int, pointers: Pointers, width: int) -> tuple[Spot, ...]:
        """The general case: lanes go to several memories, or some have an address that is no good."""
        lanes = self.L
        address = np.broadcast_to(np.asarray(pointers.address), (lanes.n,)) + op.place.offset
        if (fixed := self._fixed.get(slot)) is not None:
            windows, starts, ends = [fixed], np.array([fixed.start]), np.array([fixed.end])
        else:
            windows = [window for window in self._windows if self._allowed(op, window)]
            starts = np.array([window.start for window in windows], np.int64)
            ends = np.array([window.end for window in windows], np.int64)
        home = np.searchsorted(starts, address, side="right") - 1
        inside = home >= 0
        if windows:
            inside &= address <= ends[home] - width
        straight = address & (width - 1) == 0
        if self.tracker is not None:
            kind = "read" if isinstance(op, Load) else "write"
            if not inside.all():
                self.tracker.outside_memory(op, lanes.subset(~inside), address[~inside], width, kind)
            if (crooked := inside & ~straight).any():
                self.tracker.misaligned(op, lanes.subset(crooked), address[crooked], width, kind)
        good = inside & straight
        spots = []
        for number in np.unique(home[good]).tolist():
            keep = good & (home == number)
            part = lanes if keep.all() else lanes.subset(keep)
            window, there = windows[number], address[keep]
            offset = window.offset(there, part)
            spots.append(Spot(window.segment, _space(op, window), window.allocation, part, there, offset))
        return self._one_request(slot, lanes, spots)

    # --- windows -----------------------------------------------------------------------------------------------

    def _make_windows(self) -> None:
        """The memory of the launch, in the order of its addresses, and the windows of the program's accesses."""
        launch, program = self.launch, self.launch.program
        own = [
            (SHARED, self.shared, SHARED_BASE, program.static_shared_bytes + launch.shared_bytes, self.shared_bytes),
            (LOCAL, self.local, LOCAL_BASE, program.local_bytes, self.local_bytes),
        ]
        self._own_windows = {
            space: Window(segment, space, base, (base, base + nbytes), stride)
            for space, segment, base, nbytes, stride in own
        }
        found = {(a.base, a.nbytes): a for a in (*launch.others, *launch.allocations) if a is not None}
        self._global_windows = {
            (base, nbytes): Window(Segment(allocation.data), GLOBAL, base, (base, base + nbytes), allocation=allocation)
            for (base, nbytes), allocation in found.items()
        }
        self._windows = [*self._own_windows.values()]
        for _, window in sorted(self._global_windows.items(), key=lambda item: (item[0][0], -item[0][1])):
            # A view may lie in an array that a pointer in memory leads to: an address means the whole of it.
            if window.end > self._windows[-1].end:
                self._windows.append(window)
        self._starts = np.array([window.start for window in self._windows])
        self._starts_list = self._starts.tolist()
        access = self.compiled.access
        self._widths = [op.dtype.itemsize * _consecutive(op) for op in access]
        self.requests = [_requests(op, width) for op, width in zip(access, self._widths, strict=True)]
        self._fixed = {slot: w for slot, op in enumerate(access) if (w := self._fixed_window(op))}

    def _fixed_window(self, op: Load | Store | Atomic) -> Window | None:
        """The window of an access that always goes to one: None when the address decides."""
        if not isinstance(op.place, Address):
            return None
        if op.root is None:
            return self._own_windows.get(op.space)
        limits = extent(self.launch, op.root)
        allocation = self.launch.allocations[op.root] if op.root < len(self.launch.allocations) else None
        whole = self._own_windows[self.roots[op.root].space] if allocation is None else self._window_of(allocation)
        return Window(whole.segment, whole.space, whole.base, limits, whole.stride, allocation)

    def _window_of(self, allocation: Allocation) -> Window:
        return self._global_windows[allocation.base, allocation.nbytes]

    def _number_at(self, address: int) -> int:
        """Number of the window that holds an address, or of the last one before it."""
        return max(0, bisect.bisect_right(self._starts_list, address) - 1)

    def _allowed(self, op: Load | Store | Atomic, window: Window) -> bool:
        """Whether an access of the operation's space may go to a window."""
        return (
            op.root is not None
            or op.space in (GENERIC, window.space)
            or (op.space == CONSTANT and window.space == GLOBAL)
        )


def _same(seen: tuple, now: tuple) -> bool:
    """Whether an access has the very vectors, and equal scalars, of the one before."""
    return len(seen) == len(now) and all(
        a is b or not (isinstance(a, np.ndarray) or isinstance(b, np.ndarray) or a != b)
        for a, b in zip(seen, now, strict=True)
    )


def _plain(shape: tuple) -> tuple[int, ...]:
    """A shape as Python ints (of the first lane, where lanes differ)."""
    return tuple(int(n.flat[0]) if isinstance(n, np.ndarray) else int(n) for n in shape)


def _space(op: Load | Store | Atomic, window: Window) -> str:
    """What an access counts as: constant memory lies among global memory."""
    return CONSTANT if op.space == CONSTANT else window.space


def _requests(op: Load | Store | Atomic, width: int) -> tuple[tuple[int, int], ...]:
    """The requests that an access makes: (bytes behind its address, bytes a lane) of each."""
    if not isinstance(op, Atomic) and op.requests is not None:
        return op.requests
    if op.dtype.kind == "c" and op.space == GLOBAL:
        # Real and imaginary part go one after the other: nothing says that a pair is aligned to its own size.
        return ((0, width // 2), (width // 2, width // 2))
    return ((0, width),)


def _consecutive(op: Load | Store | Atomic) -> int:
    """How many consecutive values an access moves for a lane."""
    return len(op.dst) if isinstance(op, Load) else len(op.src) if isinstance(op, Store) else 1
