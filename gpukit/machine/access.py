"""What generated code calls for loads, stores and atomics.

Every access goes the same way: `addressing` says where, then come the values, the counts (requests, sectors or
wavefronts), and, with hazards on, the tracker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine import atomics
from gpukit.machine.addressing import Addressing, Lanewise
from gpukit.machine.counters import Counts, count_sectors, count_wavefronts, max_lanes_on_one_address
from gpukit.machine.lanes import LaneSet, Wave
from gpukit.machine.program import GLOBAL, SHARED, Atomic, Launch, Load, Store

if TYPE_CHECKING:
    from gpukit.machine.codegen import Compiled
    from gpukit.machine.hazards import HazardTracker


class MemoryAccess(Addressing):
    """The memory half of a wave's run."""

    def __init__(self, launch: Launch, wave: Wave, compiled: Compiled, counts: Counts, tracker: HazardTracker | None):
        super().__init__(launch, wave, compiled, counts, tracker)
        self.effects = 0  # stores, atomics and prints so far: a loop that has none cannot change memory
        self.watching = False  # whether stores of what is there already must be told from those that change something
        self.roots = launch.program.roots
        self.any_unknown_store = any(isinstance(op, Store | Atomic) and op.root is None for op in compiled.access)

    # --- operations of generated code --------------------------------------------------------------------------

    def load(self, op: Load, slot: int, base: Lanewise, index: tuple, shape: tuple, strides: tuple) -> Lanewise | tuple:
        """Values of an element access, compact; lanes that were out of bounds get zero. A tuple for a vector load."""
        address, lanes = self.element(op, base, index, shape, strides)
        return self._load(op, slot, address, lanes) if len(op.dst) == 1 else self._load_vector(op, slot, address, lanes)

    def load_at(self, op: Load, slot: int, address: Lanewise) -> Lanewise | tuple:
        """Values at raw addresses; a tuple when the load is a vector load."""
        address, lanes = self._inside(op, address)
        return self._load(op, slot, address, lanes) if len(op.dst) == 1 else self._load_vector(op, slot, address, lanes)

    def store(
        self, op: Store, slot: int, values: tuple, base: Lanewise, index: tuple, shape: tuple, strides: tuple
    ) -> None:
        """Store to an element."""
        address, lanes = self.element(op, base, index, shape, strides)
        self._store(op, slot, values, address, lanes)

    def store_at(self, op: Store, slot: int, values: tuple, address: Lanewise) -> None:
        """Store to a raw address."""
        address, lanes = self._inside(op, address)
        self._store(op, slot, values, address, lanes)

    def atomic(
        self, op: Atomic, slot: int, values: tuple, base: Lanewise, index: tuple, shape: tuple, strides: tuple
    ) -> Lanewise:
        """Atomic on an element; the values found (zero for lanes out of bounds)."""
        address, lanes = self.element(op, base, index, shape, strides)
        return self._atomic(op, slot, values, address, lanes)

    def atomic_at(self, op: Atomic, slot: int, values: tuple, address: Lanewise) -> Lanewise:
        """Atomic on a raw address."""
        address, lanes = self._inside(op, address)
        return self._atomic(op, slot, values, address, lanes)

    # --- loads, stores, atomics --------------------------------------------------------------------------------

    def _load(self, op: Load, slot: int, address: Lanewise, lanes: LaneSet | None) -> Lanewise:
        if lanes is None:
            return op.dtype.type()
        if (homes := self._homes(op, address)) is not None:
            whole = np.zeros(self.L.n, op.dtype)
            for part, there in self._parts(slot, address, lanes, homes):
                whole[self._positions(part)] = self._compact(self._load(op, slot, there, part), part)
            return whole
        segment, offset, space = self._locate(op, address, lanes)
        value = segment.read(offset, op.dtype)
        self._count(slot, op.dtype.itemsize, space, address, lanes)
        if self.tracker is not None:
            self._track(op, space, address, offset, lanes)
        if lanes is not self.L:
            return self._scatter(value, lanes, op.dtype)
        return value

    def _load_vector(self, op: Load, slot: int, address: Lanewise, lanes: LaneSet | None) -> tuple[Lanewise, ...]:
        """k consecutive elements a lane: one request of k times the width."""
        if lanes is None:
            return tuple(op.dtype.type() for _ in op.dst)
        if (homes := self._homes(op, address)) is not None:
            whole = [np.zeros(self.L.n, op.dtype) for _ in op.dst]
            for part, there in self._parts(slot, address, lanes, homes):
                for column, value in zip(whole, self._load_vector(op, slot, there, part), strict=True):
                    column[self._positions(part)] = self._compact(value, part)
            return tuple(whole)
        segment, offset, space = self._locate(op, address, lanes)
        size = op.dtype.itemsize
        values = tuple(segment.read(offset + i * size, op.dtype) for i in range(len(op.dst)))
        self._count(slot, size * len(op.dst), space, address, lanes)
        if self.tracker is not None:
            self._track(op, space, address, offset, lanes, len(op.dst))
        if lanes is not self.L:
            return tuple(self._scatter(v, lanes, op.dtype) for v in values)
        return values

    def _store(self, op: Store, slot: int, values: tuple, address: Lanewise, lanes: LaneSet | None) -> None:
        if lanes is None:
            return
        if (homes := self._homes(op, address)) is not None:
            for part, there in self._parts(slot, address, lanes, homes):
                self._store(op, slot, values, there, part)
            return
        segment, offset, space = self._locate(op, address, lanes)
        if lanes is not self.L:
            values = tuple(self._compact(v, lanes) for v in values)
        size = op.dtype.itemsize
        self._count(slot, size * len(values), space, address, lanes)
        if self.tracker is not None:
            new = values[0] if len(values) == 1 else None
            old = segment.read(offset, op.dtype) if len(values) == 1 else None
            self._track(op, space, address, offset, lanes, len(values), new, old)
        for i, value in enumerate(values):
            where = offset + i * size if i else offset
            if not isinstance(where, np.ndarray) and isinstance(value, np.ndarray):
                value = value[-1]  # every lane stores to one place: the last one's value stays
            if not self.watching or not _same_bytes(segment.read(where, op.dtype), value, op.dtype):
                self.effects += 1
            segment.write(where, value, op.dtype)

    def _atomic(self, op: Atomic, slot: int, values: tuple, address: Lanewise, lanes: LaneSet | None) -> Lanewise:
        zero = op.dtype.type()
        if lanes is None:
            return zero
        if (homes := self._homes(op, address)) is not None:
            whole = np.zeros(self.L.n, op.dtype)
            for part, there in self._parts(slot, address, lanes, homes):
                found = self._atomic(op, slot, values, there, part)
                whole[self._positions(part)] = self._compact(found, part)
            return whole
        segment, offset, space = self._locate(op, address, lanes)
        if lanes is not self.L:
            values = tuple(self._compact(v, lanes) for v in values)
        self._count(slot, op.dtype.itemsize, space, address, lanes)
        count = self.counts.of(slot, space)
        count.contention = max(count.contention, max_lanes_on_one_address(address, lanes))
        if self.tracker is not None:
            self._track(op, space, address, offset, lanes)
        place = np.broadcast_to(np.asarray(offset // op.dtype.itemsize), (lanes.n,))
        check = self.tracker is not None and op.action in ("add", "sub") and op.dtype.kind in "iu"
        view = segment.view(op.dtype)
        if self.tracker is not None and op.action == "add" and op.dtype.kind == "f":
            total, value = view[place], np.asarray(values[0], op.dtype)
            self.tracker.accumulated(op, total, value, total + value, lanes)
        before = view[place] if self.watching else None
        old = atomics.apply(view, place, op.action, values, op.dst is not None or check)
        if before is None or not _same_bytes(before, view[place], op.dtype):
            self.effects += 1
        if old is None:
            return zero
        if check:
            self._check_atomic_overflow(op, lanes, old, values[0])
        return self._scatter(old, lanes, op.dtype) if lanes is not self.L else old

    def _check_atomic_overflow(self, op: Atomic, lanes: LaneSet, old: np.ndarray, value: Lanewise) -> None:
        """A sum that wrapped ends up on the wrong side of the value it started from."""
        value = np.broadcast_to(np.asarray(value, op.dtype), old.shape)
        new = old + value if op.action == "add" else old - value
        up = (value > 0) if op.action == "add" else (value < 0)
        wrapped = np.where(up, new < old, new > old) & (value != 0)
        if op.dtype.kind == "u":
            wrapped = (new < old) if op.action == "add" else (new > old)
        if wrapped.any():
            assert self.tracker is not None
            exact = old[wrapped].astype(object) + (value[wrapped].astype(object) * (1 if op.action == "add" else -1))
            self.tracker.narrow(op, lanes.subset(wrapped), exact, op.dtype)

    def _positions(self, part: LaneSet) -> np.ndarray:
        """Where the lanes of a subset stand among the current lanes."""
        return np.searchsorted(self.L.lanes, part.lanes)

    def _scatter(self, value: Lanewise, lanes: LaneSet, dtype: np.dtype) -> np.ndarray:
        """Values of a subset as a compact vector of the current lanes, zero elsewhere."""
        whole = np.zeros(self.L.n, dtype)
        whole[self._positions(lanes)] = value
        return whole

    def _compact(self, value: Lanewise, part: LaneSet) -> Lanewise:
        """Of a value for the current lanes, those of a subset."""
        return value[self._positions(part)] if isinstance(value, np.ndarray) else value

    # --- counts ------------------------------------------------------------------------------------------------

    def _count(self, slot: int, width: int, space: str, address: Lanewise, lanes: LaneSet) -> None:
        count = self.counts.of(slot, space)
        count.requests += lanes.n_warps
        count.bytes += lanes.n * width
        if space == GLOBAL and self.compiled.access[slot].dtype.kind == "c":
            # Real and imaginary part go one after the other: nothing says that a pair is aligned to its own size.
            count.requests += lanes.n_warps
            half = width // 2
            count.units += count_sectors(address, half, lanes) + count_sectors(address + half, half, lanes)
        elif space == GLOBAL:
            count.units += count_sectors(address, width, lanes)
        elif space == SHARED:
            load = isinstance(self.compiled.access[slot], Load)
            wavefronts, least = count_wavefronts(address, width, lanes, load)
            count.units += wavefronts
            count.minimum += least

    def may_be_written(self, op: Load) -> bool:
        """Whether some store or atomic of the program can reach what `op` loads."""
        return self.any_unknown_store or op.root is None or self.roots[op.root].written is not False

    # --- hazards -----------------------------------------------------------------------------------------------

    def _track(
        self,
        op: Load | Store | Atomic,
        space: str,
        address: Lanewise,
        offset: Lanewise,
        lanes: LaneSet,
        count: int = 1,
        new: Lanewise | None = None,
        old: Lanewise | None = None,
    ) -> None:
        tracker = self.tracker
        assert tracker is not None
        if space == GLOBAL:
            allocation = self._allocation(op, address)
            memory = tracker.global_memory(op.root, allocation)
        else:
            memory = tracker.shared_memory() if space == SHARED else tracker.local_memory()
        if memory is None:
            return
        width = op.dtype.itemsize * count
        if isinstance(op, Load):
            tracker.load(op, memory, offset, width, lanes)
        elif isinstance(op, Store):
            tracker.store(op, memory, offset, width, lanes, new, old)
        else:
            tracker.atomic(op, memory, offset, width, lanes)

    def fence(self, scope: str) -> None:
        """A memory fence orders nothing by itself; the tracker needs it to see a hand-over through an atomic."""
        self.tracker.fence(self.L, scope)  # type: ignore[union-attr]


def _same_bytes(old: Lanewise, new: Lanewise, dtype: np.dtype) -> bool:
    """Whether a store changes nothing."""
    return bool(
        np.array_equal(old, np.broadcast_to(np.asarray(new, dtype), np.shape(old)), equal_nan=dtype.kind in "fc")
    )
