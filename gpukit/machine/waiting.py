"""Where lanes wait for each other: block barriers, the grid barrier, and warp synchronisations.

Lanes that arrive together, the usual case, pass at once. Others are parked until everyone they wait for has come, has
exited, or can no longer come; the last is a hazard, and the lanes are let through so that the run can go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.machine import warp
from gpukit.machine.lanes import LaneSet, Wave, per_lane, tally
from gpukit.machine.program import Barrier, GridSync, WarpSync

if TYPE_CHECKING:
    from gpukit.machine.analysis import Loop
    from gpukit.machine.counters import Counts
    from gpukit.machine.hazards import HazardTracker
    from gpukit.machine.program import Register, Terminator

FULL_MASK = 0xFFFFFFFF
NAMED_BARRIERS = 16


@dataclass
class Parked:
    """Lanes waiting at the end of a program block, with what they bring (compact; one entry per lane).

    `alive`: at a warp synchronisation, which lanes of their warp had not exited when they came (uint32 (n,)).
    `number`, `threads`: at a barrier, which of the block's barriers it is and how many threads open it (0: all).
    """

    lanes: LaneSet
    block: int
    operands: tuple[np.ndarray, ...]
    alive: np.ndarray | None = None
    number: int = 0
    threads: int = 0

    def part(self, keep: np.ndarray) -> Parked:
        """Those where `keep` (bool (n,)) is true."""
        alive = None if self.alive is None else self.alive[keep]
        operands = tuple(o[keep] for o in self.operands)
        return Parked(self.lanes.subset(keep), self.block, operands, alive, self.number, self.threads)


class Waiting:
    """The waiting half of a wave's run; the other half gives lanes, registers and `push`."""

    wave: Wave
    L: LaneSet
    ends: list[Terminator]
    loops: dict[int, Loop]
    registers: list[Register]
    counts: Counts
    tracker: HazardTracker | None
    set: Any
    assign: Any
    push: Any
    flush: Any
    leave_lockstep: Any

    def __init__(self) -> None:
        self.alive = self.wave.everyone.n
        self.alive_in_block = np.full(self.wave.n_blocks, self.wave.geometry.threads_per_block, np.int64)
        self.exited: np.ndarray | None = None  # bool (n_lanes,), made at the first exit of only some lanes
        self.torn = np.zeros(self.wave.n_blocks, bool)  # blocks whose threads met at different barriers
        self.at_barrier: list[Parked] = []
        self.arrivals: list[Parked] = []  # lanes that a named barrier counts and that have gone on
        self.at_warp_sync: list[Parked] = []
        self._alive_bits: np.ndarray | None = None
        # Turns of each lane (int (n_lanes,)) since its last barrier, by header, for loops with a barrier inside.
        self.turns: dict[int, np.ndarray] = {}

    # --- exits -------------------------------------------------------------------------------------------------

    def exit(self, lanes: LaneSet) -> None:
        """Lanes are done; those that waited only for them go on."""
        self.alive -= lanes.n
        if self.alive == 0:
            self.alive_in_block[:] = 0
            return
        if self.exited is None:
            self.exited = np.zeros(self.wave.n_lanes, bool)
        self.exited[lanes.lanes] = True
        self._alive_bits = None
        self.alive_in_block = self.alive_in_block - tally(lanes.blocks, minlength=self.wave.n_blocks)
        if self.at_warp_sync:
            self.meet_at_warp_sync()
        if self.at_barrier:
            self.open_full_barriers(after_exit=True)
            self.open_part_barriers()

    def alive_bits(self) -> np.ndarray:
        """Bit mask of the lanes that have not exited, one uint32 per warp of the wave."""
        if self._alive_bits is None:
            here = np.zeros(self.wave.n_lanes, bool)
            here[self.wave.everyone.lanes] = True
            if self.exited is not None:
                here &= ~self.exited
            bits = here.reshape(-1, 32).astype(np.uint32) << np.arange(32, dtype=np.uint32)
            self._alive_bits = np.bitwise_or.reduce(bits, axis=1)
        return self._alive_bits

    # --- block and grid barriers -------------------------------------------------------------------------------

    def barrier(self, block: int, end: Barrier | GridSync, value: Any) -> bool:
        """The current lanes reach a barrier. True when they pass at once."""
        if isinstance(end, Barrier) and end.is_named:
            self.part_barrier(block, end, value)
            return False
        lanes = self.L
        if lanes.n == self.alive and not self.at_barrier and not self.arrivals:
            self.passed(end, block, lanes, np.flatnonzero(self.alive_in_block))
            if isinstance(end, Barrier) and end.reduce is not None:
                assert value is not None and end.dst is not None
                self.set(end.dst, self.reduced(end.reduce, lanes, np.broadcast_to(value, (lanes.n,))))
            return True
        self.flush()
        operands = () if value is None else (np.broadcast_to(value, (lanes.n,)),)
        self.at_barrier.append(Parked(lanes, block, operands))
        self.open_full_barriers()
        if self.at_barrier:
            self.leave_lockstep()
        return False

    def open_full_barriers(self, after_exit: bool = False) -> None:
        """Let the blocks go whose every thread that has not exited is at a barrier."""
        arrived = np.zeros(self.wave.n_blocks, np.int64)
        for parked in (*self.at_barrier, *self.arrivals):
            if parked.number or parked.threads:
                continue
            arrived += tally(parked.lanes.blocks, minlength=self.wave.n_blocks)
        full = (arrived == self.alive_in_block) & (arrived > 0)
        if any(isinstance(self.ends[p.block], GridSync) for p in self.at_barrier) and arrived.sum() < self.alive:
            return
        if full.any():
            self.open_barriers(full, after_exit, number=0)

    def open_barriers(self, which: np.ndarray, left_behind: bool, number: int | None = None) -> None:
        """Open a barrier (None: all) of the blocks in `which` (bool (n_blocks,)). `left_behind`: threads were elsewhere
        and never came. Threads that stand at different barriers are let through together, as hardware does."""
        going: list[Parked] = []
        staying: list[Parked] = []
        for parked in self.at_barrier:
            if number is not None and (parked.number, parked.threads) != (number, 0):
                staying.append(parked)
                continue
            keep = which[parked.lanes.blocks]
            if keep.any():
                going.append(parked.part(keep))
            if not keep.all():
                staying.append(parked.part(~keep))
        self.at_barrier = staying
        first_site = np.full(self.wave.n_blocks, -1)
        torn = np.zeros(self.wave.n_blocks, bool)
        for parked in going:
            blocks = parked.lanes.blocks
            torn[blocks] |= (first_site[blocks] >= 0) & (first_site[blocks] != parked.block)
            first_site[blocks] = parked.block
        torn |= self.in_different_turns(going)
        if left_behind:
            torn |= which
        # Once torn apart, a block's threads stay a barrier apart: only the first one is the mistake.
        torn &= ~self.torn
        self.torn |= torn
        if self.tracker is not None and torn.any():
            sites = [(self.ends[p.block], p.lanes.subset(torn[p.lanes.blocks])) for p in going]
            self.tracker.barrier_divergence([(end, lanes) for end, lanes in sites if lanes.n], np.flatnonzero(torn))
        opened: set[int] = set()
        for parked in going:
            new = [b for b in np.unique(parked.lanes.blocks).tolist() if b not in opened]
            opened.update(new)
            if new:
                self.passed(
                    self.ends[parked.block], parked.block, parked.lanes, np.array(new), check_exits=not left_behind
                )
        for parked in going:
            end = self.ends[parked.block]
            assert isinstance(end, Barrier | GridSync)
            if isinstance(end, Barrier) and end.reduce is not None and end.dst is not None:
                peers = merged(self.wave, [p for p in going if p.operands])
                result = self.reduced(end.reduce, peers.lanes, peers.operands[0])
                self.assign(end.dst, parked.lanes, result[np.searchsorted(peers.lanes.lanes, parked.lanes.lanes)])
            self.push(end.target, parked.lanes)

    # --- barriers of part of a block ---------------------------------------------------------------------------

    def part_barrier(self, block: int, end: Barrier, operands: tuple) -> None:
        """The current lanes reach a named barrier, where not all threads of the block need come."""
        self.flush()
        lanes = self.L
        value, number, threads = operands
        brought = () if value is None else (np.broadcast_to(value, (lanes.n,)),)
        wanted = np.asarray(0 if number is None else number, np.int64) % NAMED_BARRIERS << 32
        wanted = wanted | np.asarray(0 if threads is None else threads, np.int64)
        for key in np.unique(wanted).tolist():
            parked = Parked(lanes, block, brought, None, key >> 32, key & 0xFFFFFFFF)
            if wanted.ndim and not (keep := wanted == key).all():
                parked = parked.part(keep)
            if self.tracker is not None:
                self.tracker.arrive(parked.lanes, parked.number)
            if end.arrive:
                self.arrivals.append(parked)
                self.push(end.target, parked.lanes)
            else:
                self.at_barrier.append(parked)
        self.open_full_barriers()
        self.open_part_barriers()
        if self.at_barrier or self.arrivals:
            self.leave_lockstep()

    def open_part_barriers(self) -> None:
        """Open every named barrier at which enough threads have arrived."""
        names = {(p.number, p.threads) for p in self.at_barrier if p.number or p.threads}
        for number, threads in sorted(names):
            there = [p for p in (*self.arrivals, *self.at_barrier) if p.number == number]
            arrived = np.zeros(self.wave.n_blocks, np.int64)
            for parked in there:
                arrived += self._count_arrivals(parked.lanes) if threads else self._lanes_by_block(parked.lanes)
            needed = np.full(self.wave.n_blocks, threads) if threads else self.alive_in_block
            full = (arrived >= needed) & (arrived > 0)
            if full.any():
                self._open_part_barrier(number, full, arrived // np.maximum(needed, 1) * needed)

    def _lanes_by_block(self, lanes: LaneSet) -> np.ndarray:
        return tally(lanes.blocks, minlength=self.wave.n_blocks)

    def _count_arrivals(self, lanes: LaneSet) -> np.ndarray:
        """How many threads of each block a barrier counts for lanes that arrive: a warp that comes with all lanes it
        still has counts as a whole one."""
        here = np.diff(lanes.warp_starts, append=lanes.n)
        warps = lanes.warps[lanes.warp_starts]
        whole = here == np.bitwise_count(self.alive_bits()[warps])
        blocks = warps // self.wave.geometry.warps_per_block
        return tally(blocks, self.wave.n_blocks, np.where(whole, 32, here)).astype(np.int64)

    def _open_part_barrier(self, number: int, which: np.ndarray, places: np.ndarray) -> None:
        """Open a named barrier of the blocks in `which` (bool (n_blocks,)) for `places` threads of each, those that
        came first; arrivals are used up before waiting threads are let through."""
        left = np.where(which, places, 0)

        def take(queue: list[Parked]) -> tuple[list[Parked], list[Parked]]:
            taken, rest = [], []
            for parked in queue:
                keep = np.zeros(parked.lanes.n, bool)
                if parked.number == number:
                    keep = which[parked.lanes.blocks] & (self._rank_in_block(parked.lanes) < left[parked.lanes.blocks])
                if keep.any():
                    taken.append(parked if keep.all() else parked.part(keep))
                    left[:] -= self._lanes_by_block(taken[-1].lanes)
                if not keep.all():
                    rest.append(parked.part(~keep) if keep.any() else parked)
            return taken, rest

        arrived, self.arrivals = take(self.arrivals)
        going, self.at_barrier = take(self.at_barrier)
        if not going:
            return
        together = merged(self.wave, going)
        by_block = self._lanes_by_block(together.lanes)
        blocks = np.flatnonzero(by_block)
        self.counts.barriers[going[0].block] += blocks.size
        if self.tracker is not None:
            everyone = not arrived and (by_block[blocks] == self.alive_in_block[blocks]).all()
            if everyone:
                self.tracker.barrier(blocks)
            else:
                self.tracker.part_barrier(together.lanes, number)
        for parked in going:
            end = self.ends[parked.block]
            assert isinstance(end, Barrier)
            if end.reduce is not None and end.dst is not None:
                result = self.reduced(end.reduce, together.lanes, together.operands[0])
                self.assign(end.dst, parked.lanes, result[np.searchsorted(together.lanes.lanes, parked.lanes.lanes)])
            self.push(end.target, parked.lanes)

    def _rank_in_block(self, lanes: LaneSet) -> np.ndarray:
        """Place of each lane among those of its block in the set, int64 (n,)."""
        blocks = lanes.blocks
        starts = np.flatnonzero(np.concatenate(([True], blocks[1:] != blocks[:-1])))
        return np.arange(lanes.n) - np.repeat(starts, np.diff(starts, append=lanes.n))

    def turn(self, header: int, lanes: LaneSet) -> None:
        """Lanes that are not all of the wave begin the next turn of a loop with a barrier inside."""
        if header not in self.turns:
            self.turns[header] = np.zeros(self.wave.n_lanes, np.int32)
        self.turns[header][lanes.lanes] += 1

    def in_different_turns(self, going: list[Parked]) -> np.ndarray:
        """Blocks (bool (n_blocks,)) whose threads meet at a barrier in different turns of a loop around it: some have
        skipped it, with `continue` or in a branch, and stand there again before the others have passed."""
        result = np.zeros(self.wave.n_blocks, bool)
        for header, turns in self.turns.items():
            inside = [p.lanes for p in going if p.block in self.loops[header].blocks]
            if not inside:
                continue
            lanes = np.concatenate([part.lanes for part in inside])
            blocks = np.concatenate([part.blocks for part in inside])
            most = np.zeros(self.wave.n_blocks, np.int32)
            np.maximum.at(most, blocks, turns[lanes])
            result[blocks[turns[lanes] < most[blocks]]] = True
        return result

    def passed(
        self, end: Terminator, block: int, lanes: LaneSet, thread_blocks: np.ndarray, check_exits: bool = True
    ) -> None:
        """Count a barrier and tell the tracker that what came before it is ordered before what follows."""
        self.counts.barriers[block] += thread_blocks.size
        for turns in self.turns.values():
            turns.reshape(self.wave.n_blocks, -1)[thread_blocks] = 0
        if self.tracker is None:
            return
        if isinstance(end, GridSync):
            self.tracker.grid_sync()
        else:
            self.tracker.barrier(thread_blocks)
        if self.exited is not None and check_exits:
            short = self.alive_in_block[thread_blocks] < self.wave.geometry.threads_per_block
            short = thread_blocks[short & ~self.torn[thread_blocks]]  # of a block that was torn apart all is said
            if short.size:
                self.tracker.barrier_with_exited(end, lanes, short, self.exited)

    def reduced(self, how: str, lanes: LaneSet, value: np.ndarray) -> np.ndarray:
        """syncthreads_count / _and / _or: one int32 per block, spread over its lanes."""
        true = tally(lanes.blocks[value != 0], minlength=self.wave.n_blocks)
        if how == "and":
            true = true == tally(lanes.blocks, minlength=self.wave.n_blocks)
        elif how == "or":
            true = true != 0
        return true.astype(np.int32)[lanes.blocks]

    # --- warp synchronisations ---------------------------------------------------------------------------------

    def warp_sync(self, block: int, end: WarpSync, operands: tuple) -> bool:
        """The current lanes reach a warp synchronisation. True when all of them pass at once."""
        lanes = self.L
        mask = operands[0]
        if lanes.n == self.alive or not (absent := self.awaited(lanes, mask)).any():
            results = self.exchange(end, lanes, operands)
            for register, value in zip(end.dst, results, strict=True):
                self.set(register, value)
            return True
        self.flush()
        compact = tuple(np.broadcast_to(np.asarray(o), (lanes.n,)) for o in operands)
        alive = per_lane(lanes, self.alive_bits()[lanes.warps[lanes.warp_starts]])
        parked = Parked(lanes, block, compact, alive)
        waits = held_back(lanes, compact[0], absent)
        if not waits.all():
            self.go_on([parked.part(~waits)])
        self.at_warp_sync.append(parked.part(waits))
        self.meet_at_warp_sync()
        if self.at_warp_sync:
            self.leave_lockstep()
        return False

    def awaited(self, lanes: LaneSet, mask: np.ndarray | np.generic) -> np.ndarray:
        """Per lane of the set: bits of the lanes its mask names that are alive but not in the set (uint32 (n,))."""
        here = warp.active_bits(lanes)
        first_warp = lanes.warps[lanes.warp_starts]
        missing = per_lane(lanes, self.alive_bits()[first_warp] & ~here)
        return missing & np.asarray(mask).astype(np.uint32)

    def meet_at_warp_sync(self) -> None:
        """Let parked lanes go whose named lanes have come, at whatever place of the program they stand."""
        for kind in dict.fromkeys(self.kind_of(p) for p in self.at_warp_sync):
            peers = [p for p in self.at_warp_sync if self.kind_of(p) == kind]
            together = merged(self.wave, peers)
            mask = together.operands[0]
            waits = held_back(together.lanes, mask, self.awaited(together.lanes, mask))
            if waits.all():
                continue
            ready = np.zeros(self.wave.n_lanes, bool)
            ready[together.lanes.lanes[~waits]] = True
            self.at_warp_sync = [p for p in self.at_warp_sync if self.kind_of(p) != kind]
            for p in peers:
                rest = ~ready[p.lanes.lanes]
                if rest.any():
                    self.at_warp_sync.append(p.part(rest))
            self.go_on([p.part(ready[p.lanes.lanes]) for p in peers])

    def kind_of(self, parked: Parked) -> tuple:
        """Lanes meet only in the same kind of synchronisation of the same type."""
        end = self.ends[parked.block]
        assert isinstance(end, WarpSync)
        return (end.kind, *(o.dtype.str for o in parked.operands))

    def go_on(self, parts: list[Parked]) -> None:
        """Exchange among parked lanes, give each its results, and send it on."""
        parts = [p for p in parts if p.lanes.n]
        if not parts:
            return
        together = merged(self.wave, parts)
        end = self.ends[parts[0].block]
        assert isinstance(end, WarpSync)
        results = self.exchange(end, together.lanes, together.operands, together.alive)
        for p in parts:
            own = self.ends[p.block]
            assert isinstance(own, WarpSync)
            where = np.searchsorted(together.lanes.lanes, p.lanes.lanes)
            for register, value in zip(own.dst, results, strict=True):
                self.assign(register, p.lanes, value[where])
            self.push(own.target, p.lanes)

    def exchange(
        self, end: WarpSync, lanes: LaneSet, operands: tuple, alive: np.ndarray | None = None
    ) -> tuple[np.ndarray, ...]:
        """The results for `lanes`, with every misuse of the mask told to the tracker. `alive` as in Parked."""
        dtypes = tuple(self.registers[d].dtype for d in end.dst)
        done = warp.exchange(end.kind, lanes, operands, dtypes)
        if self.tracker is None:
            return done.results
        mask = np.asarray(operands[0]).astype(np.uint32)
        everyone_named = mask.ndim == 0 and int(mask) == FULL_MASK
        if not (everyone_named and lanes.n == self.wave.n_lanes):
            masks = np.broadcast_to(mask, (lanes.n,))
            alone = (masks >> (lanes.lanes & 31).astype(np.uint32)) & np.uint32(1) == 0
            if alone.any():
                self.tracker.mask_excludes_caller(end, lanes.subset(alone), masks[alone])
            absent = masks & ~per_lane(lanes, warp.active_bits(lanes))
            if end.kind == "sync":  # lanes that had exited before do not count: __syncwarp waits for those left
                if alive is None:
                    alive = per_lane(lanes, self.alive_bits()[lanes.warps[lanes.warp_starts]])
                absent &= alive
            if absent.any():
                which = absent != 0
                self.tracker.mask_names_absent(end, lanes.subset(which), masks[which], absent[which])
        if done.missing is not None and done.source is not None:
            named = np.broadcast_to(done.source, (lanes.n,))[done.missing]
            self.tracker.inactive_source(end, lanes.subset(done.missing), named)
        if end.kind == "sync":
            self.tracker.syncwarp(lanes, np.broadcast_to(mask, (lanes.n,)))
        return done.results

    # --- nobody can go on --------------------------------------------------------------------------------------

    def release_stuck(self) -> bool:
        """Every lane waits for another: let some through, as hazards. False when no lane waits any more."""
        if self.at_warp_sync:
            first = self.kind_of(self.at_warp_sync[0])
            peers = [p for p in self.at_warp_sync if self.kind_of(p) == first]
            self.at_warp_sync = [p for p in self.at_warp_sync if self.kind_of(p) != first]
            self.go_on(peers)
            return True
        if self.at_barrier:
            present = np.zeros(self.wave.n_blocks, bool)
            for parked in self.at_barrier:
                present[parked.lanes.blocks] = True
            self.open_barriers(present, left_behind=True)
            return True
        return False


def held_back(lanes: LaneSet, mask: np.ndarray, absent: np.ndarray) -> np.ndarray:
    """Which lanes of a warp synchronisation must wait (bool (n,)): those that name an absent lane, or one that itself
    must wait. Groups of a warp with masks of their own wait and go apart from each other."""
    named = mask.astype(np.uint32)
    own = np.uint32(1) << (lanes.lanes & 31).astype(np.uint32)
    waits = absent != 0
    while True:
        held = np.bitwise_or.reduceat(np.where(waits, own, np.uint32(0)), lanes.warp_starts)
        more = waits | (per_lane(lanes, held) & named != 0)
        if (more == waits).all():
            return waits
        waits = more


def merged(wave: Wave, parts: list[Parked]) -> Parked:
    """Parked lanes of several places as one, in lane order."""
    if len(parts) == 1:
        return parts[0]
    lanes = np.concatenate([p.lanes.lanes for p in parts])
    order = np.argsort(lanes, kind="stable")
    operands = tuple(np.concatenate(column)[order] for column in zip(*(p.operands for p in parts), strict=True))
    alive = [p.alive for p in parts if p.alive is not None]
    bits = np.concatenate(alive)[order] if len(alive) == len(parts) else None
    return Parked(LaneSet(wave, lanes[order]), parts[0].block, operands, bits)
