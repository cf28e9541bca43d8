"""Finds hazards while a launch runs: the executor tells the tracker about accesses, synchronisation and odd events.

The tracker knows warps, lanes, barrier epochs and allocations, nothing of Python or PTX. What it decides:

* `shadow` remembers who touched each granule last, `races` turns unordered pairs into race hazards,
* `clocks` knows what syncwarp orders, `release_order` what fences and atomics order,
* `bounds_and_outputs`, `numeric` and `sync` hold the checks that need no history.

Everything is folded by kind, lines and array; counts are exact, examples few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeGuard

import numpy as np

from gpukit.machine.analysis import written_roots
from gpukit.machine.hazards.bounds_and_outputs import AliasCheck, BoundsChecks, OutputCheck
from gpukit.machine.hazards.clocks import BlockClocks, WarpClocks
from gpukit.machine.hazards.ledger import ERROR, NOTE, Hazard, Ledger, Names, Where, plural, sorted_hazards
from gpukit.machine.hazards.numeric import NumericChecks
from gpukit.machine.hazards.races import ATOMIC, READ, WRITE, Access, Memory, RaceFinder
from gpukit.machine.hazards.release_order import ReleaseOrder
from gpukit.machine.hazards.shadow import LastTwo, Order, Shadow, StampLayout
from gpukit.machine.hazards.sync import SyncChecks
from gpukit.machine.lanes import WARP_SIZE, Geometry, LaneSet, Wave
from gpukit.machine.program import (
    GENERIC,
    GLOBAL,
    LOCAL,
    LOCAL_BASE,
    SHARED,
    SHARED_BASE,
    Address,
    Allocation,
    Alu,
    Atomic,
    Barrier,
    Fence,
    Launch,
    Load,
    Op,
    Store,
    Terminator,
    WarpSync,
)

__all__ = ["Hazard", "HazardTracker", "Memory"]

Lanewise = np.ndarray | np.generic  # one value per lane of the set, or one for all of them

SEGMENT_ALIGNMENT = 16  # a block's shared and a thread's local memory take a multiple of this many bytes
_FINDINGS = ("nan_propagation", "precision_loss", "unwritten_output")


class HazardTracker:
    """Watches one launch. Every method takes the lanes concerned; per-lane values are compact (see LaneSet)."""

    def __init__(self, launch: Launch, geometry: Geometry):
        program = launch.program
        self.launch = launch
        self.geometry = geometry
        self.names = Names(launch, geometry)
        self.ledger = Ledger()
        self.layout = StampLayout(len(program.lines), geometry.n_blocks)
        self.bounds = BoundsChecks(self.names, self.ledger)
        self.numeric = NumericChecks(self.names, self.ledger)
        self.sync = SyncChecks(self.names, self.ledger)
        self.alias = AliasCheck(self.names, self.ledger)
        self.outputs = OutputCheck(launch, self.names)
        self.races = RaceFinder(self.layout, self.names, self.ledger, self._ordered)

        operations = list(_operations(launch))
        ends = [block.end for block in program.blocks]
        fences = any(isinstance(op, Fence) for op in operations)
        hand_over = any(isinstance(op, Atomic) or _may_be_strong(op) for op in operations)
        self._release = ReleaseOrder(geometry) if fences and hand_over else None
        self._has_syncwarp = any(isinstance(end, WarpSync) and end.kind == "sync" for end in ends)
        self._has_part_barriers = any(isinstance(end, Barrier) and end.is_named for end in ends)
        self._timed = self._has_syncwarp or self._has_part_barriers or self._release is not None
        self._clocks: WarpClocks | None = None
        self._block_clocks: BlockClocks | None = None

        known = self._known if self._has_syncwarp or self._has_part_barriers else None
        self._global_order = Order(self.layout, True, known)
        self._block_order = Order(self.layout, False, known)
        self._widths = _Widths(launch)
        written = written_roots(program)
        self._written = {
            allocation.base
            for number, allocation in enumerate(launch.allocations)
            if allocation is not None and number in written
        }
        anywhere = any(op.root is None and op.space in (GLOBAL, GENERIC) for op in operations if _writes(op))
        if anywhere:
            self._written |= {allocation.base for allocation in launch.others}
        self._global: dict[tuple[int, int], Memory | None] = {}  # by base and length
        self._own: dict[str, Memory | None] = {}  # shared and local memory of the wave
        self._float_atomics: dict[tuple[int, str], int] = {}
        self._epoch = 0
        self._time = 0  # number of the memory or synchronisation instruction

    # --- waves and order ---------------------------------------------------------------------------------------

    def begin_wave(self, wave: Wave) -> None:
        """The blocks of `wave` start, with fresh shared and local memory."""
        self.wave = wave
        block, thread = np.divmod(wave.all_lanes, self.geometry.lanes_per_block)
        layout = self.layout
        self._who = (block + wave.first_block) << layout.block_shift | thread << layout.thread_shift
        self._next_epoch(None)
        self._wave_floor = self._epoch << layout.epoch_shift
        if self._has_syncwarp:
            self._clocks = WarpClocks(wave)
        if self._has_part_barriers:
            self._block_clocks = BlockClocks(wave)
        if self._release is not None:
            self._release.begin_wave(wave)

    def end_wave(self) -> None:
        """All lanes of the wave have exited. Nothing is decided here: what blocks did is compared across waves."""

    def barrier(self, blocks: np.ndarray) -> None:
        """These blocks (numbers in the wave) passed a block-wide barrier."""
        self._time += 1
        everywhere = blocks.size == self.wave.n_blocks
        self._next_epoch(None if everywhere else blocks)
        if self._release is not None:
            self._release.barrier(None if everywhere else blocks, self._time)

    def arrive(self, lanes: LaneSet, number: int) -> None:
        """Lanes reached a named barrier that not all of their block wait at."""
        self._time += 1
        assert self._block_clocks is not None
        self._block_clocks.arrive(lanes, number, self._time)

    def part_barrier(self, lanes: LaneSet, number: int) -> None:
        """The lanes that waited at a named barrier go on: what those who arrived did before is ordered."""
        self._time += 1
        assert self._block_clocks is not None
        self._block_clocks.open(lanes, number)
        self._block_clocks.clear(np.unique(lanes.blocks), number)
        if self._release is not None:
            self._release.part_barrier(lanes, self._time)

    def grid_sync(self) -> None:
        """All blocks of the grid passed a grid-wide barrier."""
        self.barrier(np.arange(self.wave.n_blocks))
        self._global_order.floor = self._epoch << self.layout.epoch_shift

    def syncwarp(self, lanes: LaneSet, masks: np.ndarray | np.generic) -> None:
        """Lanes met at a syncwarp: those of one warp with one mask (uint32 (n,) or one for all) with each other."""
        self._time += 1
        if self._clocks is not None:
            self._clocks.sync(lanes, masks, self._time)
        if self._release is not None:
            self._release.syncwarp(lanes, self._time)

    def fence(self, lanes: LaneSet, scope: str) -> None:
        """A memory fence of scope "block", "device" or "system"."""
        self._time += 1
        if self._release is not None:
            self._release.fence(lanes, scope, self._time)

    def _next_epoch(self, blocks: np.ndarray | None) -> None:
        self._epoch += 1
        epoch = self._epoch << self.layout.epoch_shift
        if blocks is None:
            self._stamps = self._who | epoch
        else:
            shape = (self.wave.n_blocks, self.geometry.lanes_per_block)
            self._stamps.reshape(shape)[blocks] = self._who.reshape(shape)[blocks] | epoch

    def _lane(self, stamps: np.ndarray) -> np.ndarray:
        """Wave lanes of stamps made by blocks of this wave."""
        block = self.layout.block(stamps) - self.wave.first_block
        return block * self.geometry.lanes_per_block + self.layout.thread(stamps)

    def _known(self, now: np.ndarray, old: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Whether a syncwarp or a barrier of part of the block ordered `old` (same block and epoch) before `now`."""
        lane, other = self._lane(now), self._lane(old)
        result = np.zeros(lane.size, bool)
        if self._clocks is not None:
            same_warp = np.flatnonzero(lane >> 5 == other >> 5)
            result[same_warp] = self._clocks.known(lane[same_warp], other[same_warp], time[same_warp])
        if self._block_clocks is not None:
            result |= self._block_clocks.known(lane, other, time)
        return result

    def _ordered(
        self, old: np.ndarray, now: np.ndarray, time: np.ndarray, memory: Memory, units: np.ndarray, atomic: bool
    ) -> np.ndarray:
        """Whether something finer than barriers orders these pairs: syncwarp, named barriers, or fences and atomics."""
        layout = self.layout
        result = np.zeros(old.size, bool)
        if self._clocks is not None or self._block_clocks is not None:
            same_block = np.flatnonzero(((old ^ now) & layout.block_mask) == 0)
            if same_block.size:
                result[same_block] = self._known(now[same_block], old[same_block], time[same_block])
        if self._release is not None:
            ask = np.flatnonzero(~result)
            if ask.size:
                before = (layout.block(old[ask]), layout.thread(old[ask]), time[ask].astype(np.int64))
                places = memory.base + units[ask] * memory.granule if atomic else None
                result[ask] = self._release.ordered(before, self._lane(now[ask]), places)
        return result

    # --- memory ------------------------------------------------------------------------------------------------

    def global_memory(self, allocation: Allocation) -> Memory | None:
        """What is remembered about an allocation; None when the program only reads it, so nothing can go wrong."""
        key = allocation.base, allocation.nbytes
        if key not in self._global:
            self._global[key] = self._new_global(allocation)
        return self._global[key]

    def _new_global(self, allocation: Allocation) -> Memory | None:
        if allocation.base not in self._written:
            return None
        its = [n for n, a in enumerate(self.launch.allocations) if a is not None and a.base == allocation.base]
        granule = math.gcd(self._widths.granule(GLOBAL, its), allocation.base) or 1
        units = -(-allocation.nbytes // granule)
        shadow = Shadow(units, self._global_order, self._timed)
        return Memory(GLOBAL, shadow, granule, allocation.base, max(1, units), allocation)

    def shared_memory(self) -> Memory | None:
        """What is remembered about the shared memory of the wave's blocks."""
        program = self.launch.program
        nbytes = program.static_shared_bytes + self.launch.shared_bytes
        return self._own_memory(SHARED, SHARED_BASE, nbytes, self.wave.n_blocks)

    def local_memory(self) -> Memory | None:
        """What is remembered about the local memory of the wave's lanes."""
        return self._own_memory(LOCAL, LOCAL_BASE, self.launch.program.local_bytes, self.wave.n_lanes)

    def _own_memory(self, space: str, base: int, nbytes: int, owners: int) -> Memory | None:
        memory = self._own.get(space)
        if memory is None or memory.shadow.size < owners * memory.units_per_owner:
            its = [n for n, root in enumerate(self.launch.program.roots) if root.space == space]
            granule = math.gcd(SEGMENT_ALIGNMENT, self._widths.granule(space, its))
            units = -(-nbytes // SEGMENT_ALIGNMENT) * SEGMENT_ALIGNMENT // granule
            shadow = Shadow(units * owners, self._block_order, self._timed)
            memory = self._own[space] = Memory(space, shadow, granule, base, max(1, units))
        return memory

    def _access(
        self, op: Load | Store | Atomic, kind: str, memory: Memory, unit: np.ndarray, count: int, lanes: LaneSet
    ) -> Access:
        self._time += 1
        stamps = self._stamps if lanes.index is None else self._stamps[lanes.index]
        if op.root in self.alias.roots:
            self.alias.used(op, memory, unit, count)
        return Access(op, kind, memory, stamps | op.line, unit)

    def load(self, op: Load, memory: Memory, offset: Lanewise, width: int, lanes: LaneSet) -> None:
        """Lanes read `width` bytes each at byte offsets in the segment (int64 (n,), or one for all lanes).

        In shared memory a block's bytes start at (block in wave) x (bytes per block), in local memory likewise by lane.
        """
        unit, count = memory.units(offset, width)
        access = self._access(op, READ, memory, unit, count, lanes)
        memory.loaded = True
        shadow = memory.shadow
        if memory.space != GLOBAL:
            self._uninitialised(access, count, lanes)
            if memory.space == LOCAL:
                return
        strong = _is_strong(op, memory)
        after_write = after_atomic = None
        for step in _steps(access, count):
            if shadow.writes is not None:
                old = shadow.writes.stamp[step.unit]
                time = None if shadow.writes.time is None else shadow.writes.time[step.unit]
                after_write = _both(after_write, self.races.check(step, WRITE, old, time, after_write))
            if strong:
                shadow.record_strong_read(*_representatives(step), self._time)
                continue
            if shadow.atomics is not None:
                after_atomic = self._against_two(step, ATOMIC, shadow.atomics, after_atomic)
            shadow.record_read(*_representatives(step), self._time)
        if strong and self._release is not None:
            self._release.acquire(_places(access, lanes), lanes, self._time)

    def store(
        self,
        op: Store,
        memory: Memory,
        offset: Lanewise,
        width: int,
        lanes: LaneSet,
        new: Lanewise | None = None,
        old: Lanewise | None = None,
    ) -> None:
        """Lanes are about to write; arguments as for `load`.

        `new` and `old` are the values written and found (before any lane of this store wrote), if they are known.
        """
        unit, count = memory.units(offset, width)
        access = self._access(op, WRITE, memory, unit, count, lanes)
        shadow = memory.shadow
        if memory.space == LOCAL:
            for step in _steps(access, count):
                shadow.record_write(step.unit, step.stamps, self._time)
            return

        def unchanged(positions: np.ndarray) -> np.ndarray:
            if new is None or old is None:
                return np.zeros(positions.size, bool)
            return _same_bits(_take(new, positions), _take(old, positions))

        if _is_strong(op, memory):
            self._atomic_like(access, count)
            if self._release is not None:
                self._release.release(_places(access, lanes), lanes, self._time)
            return
        after_write = after_read = after_atomic = beside = None
        for step in _steps(access, count):
            if shadow.writes is not None:
                before = shadow.writes.stamp[step.unit]
                time = None if shadow.writes.time is None else shadow.writes.time[step.unit]
                after_write = _both(after_write, self.races.check(step, WRITE, before, time, after_write, unchanged))
            for reads in (shadow.reads, shadow.strong_reads):
                if reads is not None:
                    after_read = self._against_two(step, READ, reads, after_read)
            if shadow.atomics is not None:
                after_atomic = self._against_two(step, ATOMIC, shadow.atomics, after_atomic)
            beside = _both(beside, self._write_together(step, unit, new, beside))

    def _write_together(
        self, step: Access, start: np.ndarray, new: Lanewise | None, skip: np.ndarray | None
    ) -> np.ndarray | None:
        """Record a store; report lanes whose granule another lane of the same store writes too."""
        shadow = step.memory.shadow
        n = step.stamps.size
        if step.unit.size == 1 and n > 1:  # every lane writes the same place: the last one stays
            shadow.record_write(step.unit, step.stamps[-1:], self._time)
            lost: np.ndarray | None = np.arange(n) < n - 1
            winner_stamps = step.stamps[-1:]
        else:
            lost = shadow.record_write(step.unit, step.stamps, self._time)
            if lost is None:
                return None
            assert shadow.writes is not None
            winner_stamps = shadow.writes.stamp[step.unit]

        def same(positions: np.ndarray) -> np.ndarray:
            if new is None:
                return np.zeros(positions.size, bool)
            if start.size == 1:
                winners = np.full(positions.size, n - 1)
                return _same_bits(_take(new, positions), _take(new, winners))
            assert lost is not None
            winners = _winners(step.unit, lost, positions)
            return _same_bits(_take(new, positions), _take(new, winners)) & (start[positions] == start[winners])

        return self.races.check(step, WRITE, winner_stamps, None, skip, same, together=lost)

    def atomic(self, op: Atomic, memory: Memory, offset: Lanewise, width: int, lanes: LaneSet) -> None:
        """Lanes do an atomic; arguments as for `load`."""
        unit, count = memory.units(offset, width)
        access = self._access(op, ATOMIC, memory, unit, count, lanes)
        if memory.space != GLOBAL and op.action != "exch":
            self._uninitialised(access, count, lanes)
        self._atomic_like(access, count)
        if self._release is not None:
            place = _places(access, lanes)
            self._release.release(place, lanes, self._time)
            self._release.acquire(place, lanes, self._time)
        if op.float_action or (op.dtype.kind in "fc" and op.action in ("add", "sub")):
            key = (op.line, self.names.at(op, memory.address(int(unit[0])), memory.allocation))
            self._float_atomics[key] = self._float_atomics.get(key, 0) + lanes.n

    def _atomic_like(self, access: Access, count: int) -> None:
        """Check and record an atomic or a strong store: it races with plain accesses, not with its like."""
        shadow = access.memory.shadow
        after_write = after_read = None
        for step in _steps(access, count):
            if shadow.writes is not None:
                old = shadow.writes.stamp[step.unit]
                time = None if shadow.writes.time is None else shadow.writes.time[step.unit]
                after_write = _both(after_write, self.races.check(step, WRITE, old, time, after_write))
            if shadow.reads is not None:
                after_read = self._against_two(step, READ, shadow.reads, after_read)
            shadow.record_atomic(*_representatives(step), self._time)

    def _against_two(self, step: Access, kind: str, last: LastTwo, skip: np.ndarray | None) -> np.ndarray | None:
        """Check against both remembered reads or atomics; returns `skip` with the reported lanes added."""
        first, second = last.first[step.unit], last.second[step.unit]
        first_time = None if last.first_time is None else last.first_time[step.unit]
        second_time = None if last.second_time is None else last.second_time[step.unit]
        order, layout = step.memory.shadow.order, self.layout
        suspicious = order.unordered(first, step.stamps)
        if suspicious.any():
            # Of two that race, ask about the one of another warp first: it tells more.
            near = (first ^ step.stamps) & layout.warp_mask == 0
            swap = suspicious & near & ((second ^ step.stamps) & layout.warp_mask != 0)
            swap &= order.unordered(second, step.stamps)
            if swap.any():
                first, second = np.where(swap, second, first), np.where(swap, first, second)
                if first_time is not None and second_time is not None:
                    first_time, second_time = (
                        np.where(swap, second_time, first_time), np.where(swap, first_time, second_time)
                    )  # fmt: skip
        hit = self.races.check(step, kind, first, first_time, skip)
        # A second access from the same line and block as the first says nothing new.
        same = layout.line_mask | layout.block_mask
        repeated = None if hit is None else hit & ((first ^ second) & same == 0)
        return _both(_both(skip, hit), self.races.check(step, kind, second, second_time, _both(skip, repeated)))

    def _uninitialised(self, access: Access, count: int, lanes: LaneSet) -> None:
        shadow, unit = access.memory.shadow, access.unit
        missing = shadow.unwritten(unit, self._wave_floor)
        for step in range(1, count):
            also = shadow.unwritten(access.unit + step, self._wave_floor)
            if also.any():
                unit = np.where(also & ~missing, access.unit + step, unit)  # the first that is missing
                missing |= also
        if missing.any():
            which = np.broadcast_to(missing, (lanes.n,))
            self.bounds.uninitialised(access.op, access.memory, lanes, which, unit)

    # --- events ------------------------------------------------------------------------------------------------

    def out_of_bounds(
        self, op: Load | Store | Atomic, lanes: LaneSet, index: list[np.ndarray], shape: tuple[int, ...], kind: str
    ) -> None:
        """As `BoundsChecks.outside`."""
        self.bounds.outside(op, lanes, index, shape, kind)

    def outside_memory(
        self, op: Load | Store | Atomic, lanes: LaneSet, address: np.ndarray, width: int, kind: str
    ) -> None:
        """As `BoundsChecks.outside_memory`."""
        self.bounds.outside_memory(op, lanes, address, width, kind)

    def misaligned(self, op: Load | Store | Atomic, lanes: LaneSet, address: np.ndarray, width: int, kind: str) -> None:
        """As `BoundsChecks.misaligned`."""
        self.bounds.misaligned(op, lanes, address, width, kind)

    def negative_index(
        self, op: Load | Store | Atomic, lanes: LaneSet, index: list[np.ndarray], shape: tuple[int, ...]
    ) -> None:
        """As `BoundsChecks.negative`."""
        self.bounds.negative(op, lanes, index, shape)

    def narrow(self, op: Alu | Store | Atomic, lanes: LaneSet, value: Lanewise, dtype: np.dtype) -> None:
        """As `NumericChecks.narrow`."""
        self.numeric.narrow(op, lanes, value, dtype)

    def int_div(self, op: Alu, lanes: LaneSet) -> None:
        """As `NumericChecks.int_div`."""
        self.numeric.int_div(op, lanes)

    def float_check(self, op: Alu, result: Lanewise, operands: tuple[Lanewise, ...], lanes: LaneSet) -> None:
        """As `NumericChecks.floats`."""
        self.numeric.floats(op, result, operands, lanes)

    def accumulated(self, op: Alu | Atomic, total: Lanewise, value: Lanewise, result: Lanewise, lanes: LaneSet) -> None:
        """As `NumericChecks.accumulated`."""
        self.numeric.accumulated(op, total, value, result, lanes)

    def barrier_divergence(self, sites: list[tuple[Terminator, LaneSet]], blocks: np.ndarray) -> None:
        """As `SyncChecks.barrier_divergence`."""
        self.sync.barrier_divergence(sites, blocks)

    def barrier_with_exited(self, end: Terminator, lanes: LaneSet, blocks: np.ndarray, exited: np.ndarray) -> None:
        """`lanes` passed a barrier; of `blocks` (numbers in the wave) some threads (bool (n_lanes,)) had returned."""
        self.sync.barrier_with_exited(end, blocks, lanes.wave, exited)

    def mask_excludes_caller(self, end: Terminator, lanes: LaneSet, masks: np.ndarray) -> None:
        """As `SyncChecks.mask_excludes_caller`."""
        self.sync.mask_excludes_caller(end, lanes, masks)

    def mask_names_absent(self, end: Terminator, lanes: LaneSet, masks: np.ndarray, absent: np.ndarray) -> None:
        """As `SyncChecks.mask_names_absent`."""
        self.sync.mask_names_absent(end, lanes, masks, absent)

    def inactive_source(self, end: Terminator, lanes: LaneSet, sources: np.ndarray) -> None:
        """As `SyncChecks.inactive_source`."""
        self.sync.inactive_source(end, lanes, sources)

    # --- the result --------------------------------------------------------------------------------------------

    def finish(self) -> tuple[list[Hazard], list[Hazard]]:
        """(hazards, findings) of the launch: errors first, then by line."""
        self.alias.finish()
        everything = self.ledger.hazards()
        racy = {(h.kind, h.array, line) for h in everything if h.severity == ERROR for line in h.lines}
        # Where a race is an error, that some of its writes agreed says nothing.
        everything = [
            h
            for h in everything
            if not (h.details.get("same_value") and all((h.kind, h.array, line) in racy for line in h.lines))
        ]
        everything = [h for h in everything if not _echo(h, everything)]
        hazards = [h for h in everything if h.kind not in _FINDINGS]
        findings = [h for h in everything if h.kind in _FINDINGS]
        hazards += self._nonassociative() + self._launch_notes()
        findings += self.numeric.precision() + self.outputs.finish(self._global)
        return sorted_hazards(hazards), sorted_hazards(findings)

    def _nonassociative(self) -> list[Hazard]:
        where = Where(self.names)
        notes = []
        for (line, array), count in self._float_atomics.items():
            if count > 1:
                text = f"{count:,} atomic additions of floats to {array} are rounded in the order in which they happen"
                advice = "Expect the last digits to change from run to run; compare with a tolerance."
                notes.append(where.hazard("nonassociative_atomics", NOTE, line, text, advice, count=count, array=array))
        return notes

    def _launch_notes(self) -> list[Hazard]:
        threads = self.geometry.threads_per_block
        idle = -threads % WARP_SIZE
        if not idle:
            return []
        program = self.launch.program
        number = program.source[0].number if program.source else 0
        advice = f"Use a block size that is a multiple of {WARP_SIZE}."
        message = (
            f"a block of {plural(threads, 'thread')} is not a whole number of warps: {plural(idle, 'lane')} of its "
            f"last warp {'is' if idle == 1 else 'are'} never used. {advice}"
        )
        return [
            Hazard(
                "launch_config", NOTE, number, message, count=1, file=program.file, lines=(number,), advice=advice,
                details={"block": list(self.geometry.block), "idle_lanes": idle},
            )
        ]  # fmt: skip


def _echo(hazard: Hazard, everything: list[Hazard]) -> bool:
    """Whether a hazard only says again that memory was read before it was written: by what the poison in it led to."""
    if hazard.kind == "int_overflow" or (hazard.kind == "nan_propagation" and hazard.details["cause"] == "zero times"):
        return any(h.kind in ("uninit_shared_read", "uninit_local_read") for h in everything)
    return False


def _operations(launch: Launch) -> Iterator[Op]:
    for block in launch.program.blocks:
        yield from block.ops


class _Widths:
    """How wide the accesses to each piece of memory are: their greatest common divisor is what is tracked as one."""

    def __init__(self, launch: Launch):
        self._roots = launch.program.roots
        self._of_root: dict[int, list[int]] = {}
        self._of_space: dict[str, list[int]] = {}  # of accesses that may go anywhere in a space
        self._by_element: set[int] = set()
        for op in _operations(launch):
            if not isinstance(op, Load | Store | Atomic):
                continue
            by_address = isinstance(op.place, Address)
            # Every access by address is a multiple of its whole width; elements of packed records may lie anywhere.
            k = len(op.dst) if isinstance(op, Load) else len(op.src) if isinstance(op, Store) else 1
            width = op.dtype.itemsize * (k if by_address else 1)
            if op.root is None:
                self._of_space.setdefault(op.space, []).append(width)
            else:
                self._of_root.setdefault(op.root, []).append(width)
                if not by_address:
                    self._by_element.add(op.root)

    def granule(self, space: str, roots: list[int]) -> int:
        """Bytes of the unit to track in memory that these roots name; 0 when nothing is known."""
        widths = [*self._of_space.get(space, ()), *self._of_space.get(GENERIC, ())]
        for root in roots:
            known = self._of_root.get(root)
            if known is None or root in self._by_element:
                widths.append(self._roots[root].element)
            widths += known or ()
        return math.gcd(*widths)


def _writes(op: Op) -> TypeGuard[Store | Atomic]:
    return isinstance(op, Store | Atomic)


def _may_be_strong(op: Op) -> bool:
    return isinstance(op, Load | Store) and (op.strong or op.volatile)


def _is_strong(op: Load | Store, memory: Memory) -> bool:
    """Whether an access is atomic as far as races go. Volatile ones are in global memory, where flags are polled, but
    not in shared memory, where the old warp-synchronous code relies on them and they order nothing."""
    return op.strong or (op.volatile and memory.space == GLOBAL)


def _places(access: Access, lanes: LaneSet) -> np.ndarray:
    """A number for the place of each lane, int64 (n,)."""
    return access.memory.base + np.broadcast_to(access.unit, (lanes.n,)) * access.memory.granule


def _steps(access: Access, count: int) -> Iterator[Access]:
    """The access granule by granule."""
    yield access
    for step in range(1, count):
        yield Access(access.op, access.kind, access.memory, access.stamps, access.unit + step)


def _representatives(step: Access) -> tuple[np.ndarray, np.ndarray]:
    """(granules, stamps) to remember. Of lanes that all use one granule, the first and last are the furthest apart."""
    if step.unit.size == step.stamps.size:
        return step.unit, step.stamps
    return np.repeat(step.unit, 2), step.stamps[[0, -1]]


def _both(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
    """The union of two optional masks."""
    if a is None or b is None:
        return b if a is None else a
    return a | b


def _take(value: Lanewise, positions: np.ndarray) -> np.ndarray:
    """Values of some lanes."""
    value = np.asarray(value)
    return value[positions] if value.ndim else np.broadcast_to(value, positions.shape)


def _same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Elementwise equality in which NaN equals NaN."""
    same = a == b
    if a.dtype.kind in "fc":
        same = same | ((a != a) & (b != b))
    return same


def _winners(unit: np.ndarray, lost: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """For lanes that lost their granule to another lane of the same store: the position of that lane."""
    winners = np.flatnonzero(~lost)
    order = np.argsort(unit[winners])
    return winners[order[np.searchsorted(unit[winners], unit[positions], sorter=order)]]
