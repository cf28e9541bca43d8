"""What generated code calls for loads, stores and atomics.

Every access goes the same way: `addressing` says where (its spots), then come the values, the counts (requests, sectors
or wavefronts), and, with hazards on, the tracker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.errors import LaunchError
from gpukit.machine import atomics
from gpukit.machine.addressing import Addressing
from gpukit.machine.counters import Counts
from gpukit.machine.lanes import LaneSet, Wave
from gpukit.machine.program import CONSTANT, GLOBAL, LANE, SHARED, WARP, Address, Atomic, Launch, Load, Store
from gpukit.machine.spots import Lanewise, Spot

if TYPE_CHECKING:
    from gpukit.machine.codegen import Compiled
    from gpukit.machine.hazards import HazardTracker


# What a warp can reduce in one instruction (redux) before it updates memory once.
_REDUCTIONS = ("add", "min", "max", "and", "or", "xor")


class MemoryAccess(Addressing):
    """The memory half of a wave's run."""

    def __init__(self, launch: Launch, wave: Wave, compiled: Compiled, counts: Counts, tracker: HazardTracker | None):
        super().__init__(launch, wave, compiled, counts, tracker)
        self.effects = 0  # stores, atomics and prints so far: a loop that has none cannot change memory
        self.watching = False  # whether stores of what is there already must be told from those that change something
        self._together = [_together(op, launch.program.level, compiled.analysis.level) for op in compiled.access]

    # --- operations of generated code --------------------------------------------------------------------------

    def load(self, op: Load, slot: int, base: Lanewise, index: tuple, shape: tuple, strides: tuple) -> Lanewise | tuple:
        """Values of an element access, compact; lanes that were out of bounds get zero. A tuple for a vector load."""
        return self._load(op, slot, self.element_spots(op, slot, base, index, shape, strides))

    def load_at(self, op: Load, slot: int, address: Lanewise) -> Lanewise | tuple:
        """Values at raw addresses; a tuple when the load is a vector load."""
        return self._load(op, slot, self.spots(op, slot, address))

    def store(
        self, op: Store, slot: int, values: tuple, base: Lanewise, index: tuple, shape: tuple, strides: tuple
    ) -> None:
        """Store to an element."""
        self._store(op, slot, values, self.element_spots(op, slot, base, index, shape, strides))

    def store_at(self, op: Store, slot: int, values: tuple, address: Lanewise) -> None:
        """Store to a raw address."""
        self._store(op, slot, values, self.spots(op, slot, address))

    def atomic(
        self, op: Atomic, slot: int, values: tuple, base: Lanewise, index: tuple, shape: tuple, strides: tuple
    ) -> Lanewise:
        """Atomic on an element; the values found (zero for lanes out of bounds)."""
        return self._atomic(op, slot, values, self.element_spots(op, slot, base, index, shape, strides))

    def atomic_at(self, op: Atomic, slot: int, values: tuple, address: Lanewise) -> Lanewise:
        """Atomic on a raw address."""
        return self._atomic(op, slot, values, self.spots(op, slot, address))

    # --- loads, stores, atomics --------------------------------------------------------------------------------

    def _load(self, op: Load, slot: int, spots: tuple[Spot, ...]) -> Lanewise | tuple:
        k = len(op.dst)
        if len(spots) == 1 and spots[0].lanes is self.L:
            values = self._load_from(op, slot, spots[0])
        elif not spots:
            values = (_zero(op.dtype),) * k
        else:
            values = tuple(np.zeros(self.L.n, op.dtype) for _ in op.dst)
            for spot in spots:
                where = self._positions(spot.lanes)
                for whole, part in zip(values, self._load_from(op, slot, spot), strict=True):
                    whole[where] = part
        return values if k > 1 else values[0]

    def _load_from(self, op: Load, slot: int, spot: Spot) -> tuple[Lanewise, ...]:
        """Values of all lanes of a spot. k consecutive ones are one request of k times the width."""
        values = spot.read(op.dtype, len(op.dst))
        self._count(slot, spot)
        if self.tracker is not None:
            self._track(op, slot, spot)
        return values

    def _store(self, op: Store, slot: int, values: tuple, spots: tuple[Spot, ...]) -> None:
        for spot in spots:
            if spot.lanes is self.L:
                self._store_to(op, slot, values, spot)
            else:
                self._store_to(op, slot, tuple(self._compact(v, spot.lanes) for v in values), spot)

    def _store_to(self, op: Store, slot: int, values: tuple, spot: Spot) -> None:
        self._check_writable(op, spot)
        self._count(slot, spot)
        old = None
        if self.watching or (self.tracker is not None and len(values) == 1):
            old = spot.read(op.dtype, len(values))
        if self.tracker is not None:
            one = len(values) == 1 and old is not None
            self._track(op, slot, spot, values[0] if one else None, old[0] if one else None)  # type: ignore[index]
        if old is None or not self.watching or not all(map(_same_bytes, old, values)):
            self.effects += 1
        spot.write(values, op.dtype)

    def _atomic(self, op: Atomic, slot: int, values: tuple, spots: tuple[Spot, ...]) -> Lanewise:
        if len(spots) == 1 and spots[0].lanes is self.L:
            old = self._atomic_at(op, slot, values, spots[0])
            return _zero(op.dtype) if old is None else old
        whole = None
        for spot in spots:
            old = self._atomic_at(op, slot, tuple(self._compact(v, spot.lanes) for v in values), spot)
            if old is not None:
                whole = np.zeros(self.L.n, op.dtype) if whole is None else whole
                whole[self._positions(spot.lanes)] = old
        return _zero(op.dtype) if whole is None else whole

    def _atomic_at(self, op: Atomic, slot: int, values: tuple, spot: Spot) -> np.ndarray | None:
        """Do an atomic in all lanes of a spot; the values found, None when nobody asks for them."""
        lanes = spot.lanes
        self._check_writable(op, spot)
        self._count(slot, spot)
        count = self.counts.of(slot, spot.space)
        count.contention = max(count.contention, spot.contention(op.together))
        if self.tracker is not None:
            self._track(op, slot, spot)
        view, place = spot.place(op.dtype)
        integer = self._integer_type(op, spot) if self.tracker is not None and op.action in ("add", "sub") else None
        if self.tracker is not None and op.action == "add" and op.dtype.kind == "f":
            total, value = view[place], np.asarray(values[0], op.dtype)
            self.tracker.accumulated(op, total, value, total + value, lanes)
        before = view[place] if self.watching else None
        old = atomics.apply(view, place, op.action, values, op.dst is not None or integer is not None)
        if before is None or not _same_bytes(before, view[place]):
            self.effects += 1
        if integer is not None and old is not None:
            value = np.broadcast_to(np.asarray(values[0], op.dtype), old.shape)
            self._check_atomic_overflow(op, lanes, old.view(integer), value.view(integer))
        return old if op.dst is not None else None

    def _check_writable(self, op: Store | Atomic, spot: Spot) -> None:
        """A read-only array is the user's wish, or memory that has no room for more than one element."""
        if spot.allocation is not None and spot.allocation.readonly:
            line = self.launch.program.lines[op.line]
            raise LaunchError(
                f"the kernel writes to `{spot.allocation.name}`, a read-only array: pass a copy of it",
                file=line.file,
                line=line.number,
            )

    def _integer_type(self, op: Atomic, spot: Spot) -> np.dtype | None:
        """The integer type that a sum must not overflow. Compiled code says only its size: then the array knows."""
        dtype = op.dtype
        if op.wraps:
            if spot.allocation is None or spot.allocation.dtype.itemsize != dtype.itemsize:
                return None
            dtype = spot.allocation.dtype
        return dtype if dtype.kind in "iu" else None

    def _check_atomic_overflow(self, op: Atomic, lanes: LaneSet, old: np.ndarray, value: np.ndarray) -> None:
        """A sum that wrapped ends up on the wrong side of the value it started from."""
        new = old + value if op.action == "add" else old - value
        up = (value > 0) if op.action == "add" else (value < 0)
        wrapped = np.where(up, new < old, new > old) & (value != 0)
        if old.dtype.kind == "u":
            wrapped = (new < old) if op.action == "add" else (new > old)
        if wrapped.any():
            assert self.tracker is not None
            exact = old[wrapped].astype(object) + (value[wrapped].astype(object) * (1 if op.action == "add" else -1))
            self.tracker.narrow(op, lanes.subset(wrapped), exact, old.dtype)

    def _positions(self, part: LaneSet) -> np.ndarray:
        """Where the lanes of a subset stand among the current lanes."""
        return np.searchsorted(self.L.lanes, part.lanes)

    def _compact(self, value: Lanewise, part: LaneSet) -> Lanewise:
        """Of a value for the current lanes, those of a subset."""
        return value[self._positions(part)] if isinstance(value, np.ndarray) else value

    # --- counts ------------------------------------------------------------------------------------------------

    def _count(self, slot: int, spot: Spot) -> None:
        op, lanes, space = self.compiled.access[slot], spot.lanes, spot.space
        count = self.counts.of(slot, space)
        for shift, nbytes in self.requests[slot]:
            count.requests += lanes.n_warps
            count.bytes += lanes.n * nbytes
            if space == GLOBAL:
                atomic = isinstance(op, Atomic)
                count.units += spot.atomic_sectors(self._together[slot]) if atomic else spot.sectors(nbytes, shift)
            elif space == SHARED:
                wavefronts, least = spot.wavefronts(nbytes, isinstance(op, Load), shift)
                count.units += wavefronts
                count.minimum += least

    def may_be_written(self, op: Load) -> bool:
        """Whether some store or atomic of the program can reach what `op` loads."""
        return self.compiled.analysis.may_be_written(op)

    # --- hazards -----------------------------------------------------------------------------------------------

    def _track(
        self, op: Load | Store | Atomic, slot: int, spot: Spot, new: Lanewise | None = None, old: Lanewise | None = None
    ) -> None:
        tracker = self.tracker
        assert tracker is not None
        if spot.space == GLOBAL:
            assert spot.allocation is not None
            memory = tracker.global_memory(spot.allocation)
        elif spot.space == CONSTANT:
            return
        else:
            memory = tracker.shared_memory() if spot.space == SHARED else tracker.local_memory()
        if memory is None:
            return
        width = self._widths[slot]
        if isinstance(op, Load):
            tracker.load(op, memory, spot.offset, width, spot.lanes)
        elif isinstance(op, Store):
            tracker.store(op, memory, spot.offset, width, spot.lanes, new, old)
        else:
            tracker.atomic(op, memory, spot.offset, width, spot.lanes)

    def fence(self, scope: str) -> None:
        """A memory fence orders nothing by itself; the tracker needs it to see a hand-over through an atomic."""
        self.tracker.fence(self.L, scope)  # type: ignore[union-attr]


def _same_bytes(old: Lanewise, new: Lanewise) -> bool:
    """Whether a store changes nothing; where all lanes store to one place, the last one's value stays."""
    if not isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        new = new[-1]
    new = np.broadcast_to(np.asarray(new, old.dtype), np.shape(old))
    return bool(np.array_equal(old, new, equal_nan=old.dtype.kind in "fc"))


def _zero(dtype: np.dtype) -> np.generic:
    return np.zeros(1, dtype)[0]


def _together(op: Load | Store | Atomic, source: str, level: list[int]) -> str:
    """Which lanes update memory in one go, as far as sectors are concerned (see program.Atomic). At the compiled level
    the assembler has said so. At the source level: a reduction that every assembler makes, of 32-bit integers whose old
    value nobody wants, at an address that is the same for the whole block."""
    if not isinstance(op, Atomic) or source == "compiled":
        return op.together if isinstance(op, Atomic) else ""
    place = op.place
    where = (place.address,) if isinstance(place, Address) else (place.base, *place.index, *place.strides)
    same = all(level[operand] < LANE for operand in where if isinstance(operand, int))
    words = op.dtype.kind in "iu" and op.dtype.itemsize == 4
    return WARP if same and words and op.dst is None and op.action in _REDUCTIONS else ""
