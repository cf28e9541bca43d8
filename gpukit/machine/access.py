"""What generated code calls while a block runs: memory accesses with their counts and checks, special registers, print.

Every access goes the same way: index -> byte address per lane (each axis checked), address -> segment and offset,
values, counts (requests, sectors or wavefronts), and, with hazards on, the tracker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.errors import KernelAssertion
from gpukit.machine import atomics
from gpukit.machine.counters import Counts, count_sectors, count_wavefronts, max_lanes_on_one_address
from gpukit.machine.lanes import LaneSet, Wave, per_lane
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
    Alu,
    Atomic,
    Element,
    Launch,
    Load,
    Print,
    Raise,
    Store,
)
from gpukit.machine.warp import active_bits

if TYPE_CHECKING:
    from gpukit.machine.codegen import Compiled
    from gpukit.machine.hazards import HazardTracker

# One value per active lane (np.ndarray) or one for all of them (np.generic); NumPy's stubs cannot type the mixture.
Lanewise = Any


class MemoryAccess:
    """The memory half of a wave's run."""

    L: LaneSet
    clock: int

    def __init__(
        self,
        launch: Launch,
        wave: Wave,
        compiled: Compiled,
        counts: Counts,
        tracker: HazardTracker | None,
        output: Callable[[str], None],
    ):
        self.launch = launch
        self.wave = wave
        self.compiled = compiled
        self.functions = compiled.functions
        self.counts = counts
        self.tracker = tracker
        self.output = output
        self.effects = 0  # stores, atomics and prints so far: a loop that has none cannot change memory
        self.watching = False  # whether stores of what is there already must be told from those that change something
        self.clock = 0
        program = launch.program
        self.roots = program.roots
        self.shared_bytes = -(-(program.static_shared_bytes + launch.shared_bytes) // 16) * 16
        self.local_bytes = -(-program.local_bytes // 16) * 16
        self.shared = Segment(poisoned(self.shared_bytes * wave.n_blocks))
        self.local = Segment(poisoned(self.local_bytes * wave.n_lanes))
        self.segments: dict[int, Segment] = {}
        self.any_unknown_store = any(isinstance(op, (Store, Atomic)) and op.root is None for op in compiled.access)
        self._special: dict[tuple[str, int], Lanewise] = {}
        self._index_seen: tuple = ()
        self._index_result: tuple = ()

    # --- where -------------------------------------------------------------------------------------------------

    def element(
        self, op: Load | Store | Atomic, base: Lanewise, index: tuple, shape: tuple, strides: tuple
    ) -> tuple[Lanewise, LaneSet | None]:
        """(byte address per lane, the lanes that access). Lanes outside an axis are left out and reported."""
        place = op.place
        assert isinstance(place, Element)
        # `a[i] += v` has the same index objects in its load and its store: compute once.
        asked = (base, self.L, place.offset, *index, *shape, *strides)
        if _same(self._index_seen, asked):
            return self._index_result
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
            address = address + i * stride
        else:
            if place.offset:
                address = address + place.offset
            self._index_seen = asked
            self._index_result = (address, self.L)
            return self._index_result
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
        if not outside.any():
            return address, self.L
        keep = ~outside
        if not keep.any():
            return address, None
        return address[keep], self.L.subset(keep)

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
                whole[np.searchsorted(self.L.lanes, part.lanes)] = self._compact(
                    self._load(op, slot, there, part), part
                )
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
                    column[np.searchsorted(self.L.lanes, part.lanes)] = self._compact(value, part)
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
            keep = np.searchsorted(self.L.lanes, lanes.lanes)
            values = tuple(v[keep] if isinstance(v, np.ndarray) else v for v in values)
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
                whole[np.searchsorted(self.L.lanes, part.lanes)] = self._compact(found, part)
            return whole
        segment, offset, space = self._locate(op, address, lanes)
        if lanes is not self.L:
            keep = np.searchsorted(self.L.lanes, lanes.lanes)
            values = tuple(v[keep] if isinstance(v, np.ndarray) else v for v in values)
        self._count(slot, op.dtype.itemsize, space, address, lanes)
        count = self.counts.access[slot]
        count.contention = max(count.contention, max_lanes_on_one_address(address, lanes))
        if self.tracker is not None:
            self._track(op, space, address, offset, lanes)
        place = np.broadcast_to(np.asarray(offset // op.dtype.itemsize), (lanes.n,))
        check = self.tracker is not None and op.action in ("add", "sub") and op.dtype.kind in "iu"
        view = segment.view(op.dtype)
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

    def _scatter(self, value: Lanewise, lanes: LaneSet, dtype: np.dtype) -> np.ndarray:
        """Values of a subset as a compact vector of the current lanes, zero elsewhere."""
        whole = np.zeros(self.L.n, dtype)
        whole[np.searchsorted(self.L.lanes, lanes.lanes)] = value
        return whole

    def _compact(self, value: Lanewise, part: LaneSet) -> Lanewise:
        """Of a value for the current lanes, those of a subset."""
        return value[np.searchsorted(self.L.lanes, part.lanes)] if isinstance(value, np.ndarray) else value

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
        """(lanes, addresses) for each memory. A warp's access is one request, however many memories it goes to."""
        count = self.counts.access[slot]
        parts = [(lanes.subset(homes == home), address[homes == home]) for home in np.unique(homes)]
        count.requests -= sum(part.n_warps for part, _ in parts) - lanes.n_warps
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

    @property
    def _by_address(self) -> list[Allocation]:
        """All global memory, by ascending base."""
        return sorted({a.base: a for a in self.launch.allocations if a is not None}.values(), key=lambda a: a.base)

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

    def may_be_written(self, op: Load) -> bool:
        """Whether some store or atomic of the program can reach what `op` loads."""
        return self.any_unknown_store or op.root is None or self.roots[op.root].written is not False

    # --- counts ------------------------------------------------------------------------------------------------

    def _count(self, slot: int, width: int, space: str, address: Lanewise, lanes: LaneSet) -> None:
        count = self.counts.access[slot]
        count.requests += lanes.n_warps
        count.bytes += lanes.n * width
        if space == GLOBAL:
            count.units += count_sectors(address, width, lanes)
        elif space == SHARED:
            load = isinstance(self.compiled.access[slot], Load)
            wavefronts, least = count_wavefronts(address, width, lanes, load)
            count.units += wavefronts
            count.minimum += least

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

    def check_float(self, op: Alu, result: Lanewise, operands: tuple) -> None:
        """A NaN or Inf in the result is worth a look at where it came from."""
        if not np.isfinite(result).all():
            self.tracker.float_check(op, result, operands, self.L)  # type: ignore[union-attr]

    def check_accumulate(self, op: Alu, result: Lanewise, operands: tuple) -> None:
        """As check_float, and whether the accumulator (operand 0) took in what was added to it."""
        self.check_float(op, result, operands)
        self.tracker.accumulated(op, operands[0], operands[1], result, self.L)  # type: ignore[union-attr]

    def check_narrow(self, op: Alu, value: Lanewise, result: Lanewise) -> None:
        """An integer about to be stored in a narrower type."""
        changed = np.asarray(result != value)
        signs = np.asarray((result < 0) != (value < 0))  # int64 <-> uint64 compares equal after wrapping
        lost = changed | signs
        if lost.any():
            lost = np.broadcast_to(lost, (self.L.n,))
            values = np.broadcast_to(np.asarray(value), (self.L.n,))
            self.tracker.narrow(op, self.L.subset(lost), values[lost], np.asarray(result).dtype)  # type: ignore[union-attr]

    def check_int_div(self, op: Alu, divisor: Lanewise) -> None:
        """Integer division by zero: undefined on hardware."""
        zero = np.asarray(divisor == 0)
        if zero.any():
            self.tracker.int_div(op, self.L.subset(np.broadcast_to(zero, (self.L.n,))))  # type: ignore[union-attr]

    def fence(self, scope: str) -> None:
        """A memory fence orders nothing by itself; the tracker needs it to see a hand-over through an atomic."""
        self.tracker.fence(self.L, scope)  # type: ignore[union-attr]

    # --- the rest ----------------------------------------------------------------------------------------------

    def special(self, name: str, register: int) -> Lanewise:
        """A hardware value for the current lanes, in the register's dtype."""
        key = (name, register)
        value = self._special.get(key)
        if value is None:
            dtype = self.launch.program.registers[register].dtype
            if name == "activemask":
                return self._active_mask().astype(dtype)
            if name == "clock":
                self.clock += 1
                return dtype.type(self.clock)
            raw = self._special_value(name)
            value = self._special[key] = raw.astype(dtype) if isinstance(raw, np.ndarray) else dtype.type(raw)
        if isinstance(value, np.ndarray) and self.L.index is not None:
            return value[self.L.index]
        return value

    def _special_value(self, name: str) -> np.ndarray | int:
        geometry = self.wave.geometry
        kind, _, axis = name.partition(".")
        place = "xyz".find(axis) if axis else 0
        lanes = self.wave.all_lanes
        match kind:
            case "ntid":
                return geometry.block[place]
            case "nctaid":
                return geometry.grid[place]
            case "tid" if axis == "linear":
                return lanes % geometry.lanes_per_block
            case "tid":
                if geometry.block[place] == 1:
                    return 0
                linear = lanes % geometry.lanes_per_block
                return geometry.thread_index(linear)[place]  # type: ignore[arg-type]
            case "ctaid":
                if self.wave.n_blocks == 1:
                    return geometry.block_index(self.wave.first_block)[place]
                if geometry.grid[place] == 1:
                    return 0
                linear = lanes // geometry.lanes_per_block + self.wave.first_block
                return geometry.block_index(linear)[place]  # type: ignore[arg-type]
            case "laneid":
                return lanes & 31
            case "warpid":
                return (lanes % geometry.lanes_per_block) >> 5
            case "lanemask_lt":
                return (np.int64(1) << (lanes & 31)) - 1
        raise NotImplementedError(f"special register {name}")

    def _active_mask(self) -> np.ndarray:
        return per_lane(self.L, active_bits(self.L))

    def print(self, op: Print, parts: tuple) -> None:
        """One line of text per lane, in lane order."""
        self.effects += 1
        columns = [p if isinstance(p, str) else np.broadcast_to(np.asarray(p), (self.L.n,)).tolist() for p in parts]
        for i in range(self.L.n):
            values = [c if isinstance(c, str) else c[i] for c in columns]
            if op.format is not None:
                self.output(op.format % tuple(values))
            else:
                self.output(op.sep.join(_shown(v) for v in values) + op.end)

    def raised(self, op: Raise) -> None:
        """An assert or raise fired in the current lanes: stop the launch."""
        line = self.launch.program.lines[op.line]
        error = KernelAssertion(
            f"{op.message} (in {self.L.n} thread(s), first {self.describe(int(self.L.lanes[0]))})",
            file=line.file,
            line=line.number,
        )
        error.exception, error.arguments, error.place = op.exception, op.args, self.place_of(int(self.L.lanes[0]))
        raise error

    def place_of(self, lane: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """((x, y, z) of the block, (x, y, z) of the thread) of a lane."""
        block, thread = self.wave.locate(lane)
        return self.wave.geometry.block_index(block), self.wave.geometry.thread_index(thread)

    def describe(self, lane: int) -> str:
        """ "block (x, y, z), thread (x, y, z)" of a lane, for messages."""
        block, thread = self.place_of(lane)
        return f"block {block}, thread {thread}"


def _same(seen: tuple, now: tuple) -> bool:
    """Whether an access has the very vectors, and equal scalars, of the one before."""
    return len(seen) == len(now) and all(
        a is b or not (isinstance(a, np.ndarray) or isinstance(b, np.ndarray) or a != b)
        for a, b in zip(seen, now, strict=True)
    )


def _same_bytes(old: Lanewise, new: Lanewise, dtype: np.dtype) -> bool:
    """Whether a store changes nothing."""
    return bool(
        np.array_equal(old, np.broadcast_to(np.asarray(new, dtype), np.shape(old)), equal_nan=dtype.kind in "fc")
    )


def _shown(value: object) -> str:
    """A value as the GPU's printf shows it."""
    return f"{value:f}" if isinstance(value, float) else str(value)


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
