"""From pairs of stamps to race hazards: drop what is ordered after all, fold by line pair, say it in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gpukit.machine.hazards.ledger import ERROR, NOTE, Entry, Hazard, Ledger, Names, spell
from gpukit.machine.hazards.shadow import Shadow, StampLayout
from gpukit.machine.lanes import tally
from gpukit.machine.program import SHARED, Allocation, Atomic, Load, Store

READ, WRITE, ATOMIC = "reads", "writes", "updates"


@dataclass
class Memory:
    """A piece of memory that is tracked: an allocation, the shared memory of a wave's blocks, or its local memory.

    `units_per_owner`: granules of one block's shared or one thread's local memory (all granules of an allocation);
    `base`: virtual address of an owner's first granule.
    """

    space: str
    shadow: Shadow
    granule: int
    base: int
    units_per_owner: int
    allocation: Allocation | None = None
    loaded: bool = False

    def address(self, unit: int) -> int:
        """Virtual byte address of a granule."""
        return self.base + int(unit) % self.units_per_owner * self.granule

    def units(self, offset: np.ndarray | np.generic, width: int) -> tuple[np.ndarray, int]:
        """(first granules int64 (n,), or (1,) for one offset of all lanes; number of granules) of `width` bytes."""
        offset = np.atleast_1d(offset)
        granule = self.granule
        if granule & (granule - 1) == 0:
            return offset >> (granule.bit_length() - 1), max(1, -(-width // granule))
        return offset // granule, max(1, -(-width // granule))


@dataclass
class Access:
    """The access that runs now. `stamps` and `unit` have one entry per lane (`unit` one entry when uniform)."""

    op: Load | Store | Atomic
    kind: str
    memory: Memory
    stamps: np.ndarray
    unit: np.ndarray

    def units_of(self, positions: np.ndarray) -> np.ndarray:
        """Granules of some lanes."""
        return self.unit[positions] if self.unit.size > 1 else np.repeat(self.unit, positions.size)


class RaceFinder:
    """Decides about suspicious pairs and keeps the folded result.

    `ordered(old, now, time, place, units, atomic)`: which of the pairs syncwarp, fences and atomics order.
    """

    def __init__(self, layout: StampLayout, names: Names, ledger: Ledger, ordered: Callable):
        self.layout = layout
        self.names = names
        self.ledger = ledger
        self.ordered = ordered
        self.collisions: set[tuple[int, int]] = set()  # (line, array) of stores that wrote one element twice at once

    def check(
        self,
        access: Access,
        old_kind: str,
        old: np.ndarray,
        old_time: np.ndarray | None,
        skip: np.ndarray | None = None,
        same_value: Callable[[np.ndarray], np.ndarray] | None = None,
        together: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """Report the lanes whose earlier access `old` (stamps, one per lane or one for all) races with `access`.

        Args:
            skip: bool (n,), lanes to leave out; lanes reported here are added to it.
            same_value: positions -> whether both writes give the memory the same value.
            together: bool (n,), the lanes that share their granule with another lane of the same store; asked instead
                of the stamps.

        Returns:
            bool (n,) of the reported lanes, None when there is none.
        """
        suspicious = access.memory.shadow.order.unordered(old, access.stamps) if together is None else together
        if skip is not None:
            suspicious = suspicious & ~skip
        positions = np.flatnonzero(suspicious)
        if not positions.size:
            return None
        before = old[positions] if old.size > 1 else np.repeat(old, positions.size)
        now = access.stamps[positions]
        units = access.units_of(positions)
        if old_time is not None:
            times = old_time[positions] if old_time.size > 1 else np.repeat(old_time, positions.size)
            keep = ~self.ordered(before, now, times, access.memory, units, old_kind == ATOMIC)
            positions, before, now, units = positions[keep], before[keep], now[keep], units[keep]
            if not positions.size:
                return None
        same = np.zeros(positions.size, bool) if same_value is None else same_value(positions)
        if together is not None:
            self.collisions.add((access.op.line, access.memory.base))
        self._fold(access, old_kind, before, now, units, same)
        reported = np.zeros(access.stamps.size, bool)
        reported[positions] = True
        return reported

    def _fold(
        self, access: Access, old_kind: str, old: np.ndarray, now: np.ndarray, units: np.ndarray, same: np.ndarray
    ) -> None:
        layout = self.layout
        difference = old ^ now
        far = layout.other_block(difference) if access.memory.shadow.order.between_blocks else np.zeros(old.size, bool)
        group = layout.line(old) << 2 | far.astype(np.int64) << 1 | same
        across_warps = far | ((difference & layout.warp_mask) != 0)
        counts = tally(group)
        for number in np.flatnonzero(counts).tolist():
            members = group == number
            first = int(np.argmax(members))
            pair = _Pair(
                access,
                old_kind,
                int(old[first]),
                int(now[first]),
                int(units[first]),
                bool(number & 2),
                bool(number & 1),
            )
            lines = tuple(sorted((number >> 2, int(layout.line(now[first])))))
            key = (pair.kind, pair.same_value, lines, access.memory.base)
            entry = self.ledger.add(key, counts[number], partial(self._build, pair))
            facts = entry.facts
            facts["across_warps"] = facts.get("across_warps", False) or bool(across_warps[members].any())
            self._mark(facts, access.memory, units[members])

    def _mark(self, facts: dict, memory: Memory, units: np.ndarray) -> None:
        """Remember which granules raced, to say how many."""
        if "granules" not in facts:
            facts["granules"] = np.zeros(memory.units_per_owner, bool)
        facts["granules"][units % memory.units_per_owner] = True

    def _build(self, pair: _Pair, entry: Entry) -> Hazard:
        layout, names, geometry = self.layout, self.names, self.names.geometry
        access, memory = pair.access, pair.access.memory
        stamps = (pair.old, pair.now)
        threads = [geometry.thread_index(layout.thread(s)) for s in stamps]
        blocks = [geometry.block_index(layout.block(s)) for s in stamps]
        indices = [layout.line(s) for s in stamps]
        old_line, now_line = (names.line(i) for i in indices)
        address = memory.address(pair.unit)
        array = names.at(access.op, address, memory.allocation)
        index = names.element(access.op, address, memory.allocation)
        element = spell(array, index)
        same_warp = not entry.facts["across_warps"]
        who = [names.thread(t) for t in threads]
        in_block = names.block(blocks[1])
        if pair.interblock:
            who = [f"{w} of {names.block(b)}" for w, b in zip(who, blocks, strict=True)]
        where = "in the same line" if old_line == now_line else f"in line {old_line}"
        inside = "" if pair.interblock else f" in {in_block}"
        message = (
            f"line {now_line}: {who[1]} {access.kind} {element}{inside}, which {who[0]} {pair.old_kind} {where}, "
            + ("and nothing orders the two blocks" if pair.interblock else "and nothing between them orders the two")
        )
        if pair.same_value:
            message += "; both write the same value, so the result does not depend on who is last"
        collide = (indices[1], memory.base) in self.collisions
        advice = self._advice(pair, same_warp, indices[0] == indices[1], collide)
        return Hazard(
            kind=pair.kind,
            severity=NOTE if pair.same_value else ERROR,
            line=now_line,
            message=f"{message}. {advice}",
            count=entry.count,
            file=names.file(indices[1]),
            array=array,
            index=index,
            block=blocks[1],
            threads=threads,
            lines=tuple(sorted({old_line, now_line})),
            advice=advice,
            details={
                "first": pair.old_kind,
                "second": access.kind,
                "same_warp": same_warp,
                "same_value": pair.same_value,
                "racing_addresses": int(np.count_nonzero(entry.facts["granules"])),
                "blocks": blocks,
            },
        )

    def _advice(self, pair: _Pair, same_warp: bool, one_line: bool, collide: bool) -> str:
        """The cure. `collide`: threads write one element in the same instruction, as `x += 1` by all of them does and
        a stencil in place does not."""
        names = self.names
        kinds = {pair.old_kind, pair.access.kind}
        if pair.same_value:
            return "Let one thread write it, to say what you mean."
        update = one_line and collide and kinds == {READ, WRITE}
        collide = one_line and (collide or kinds == {WRITE})
        if pair.interblock:
            if kinds == {ATOMIC, READ}:
                return (
                    "A block barrier does not order blocks: read the result in a second launch, or in the block that "
                    f"finishes last ({names.threadfence}, then an atomic counter)."
                )
            if ATOMIC in kinds:
                return f"Update it only with atomics ({names.atomic_add}), and set its first value before the launch."
            if collide:
                return f"Update it only with atomics ({names.atomic_add}), or let each block write its own element."
            return (
                "A block barrier does not order blocks: write to another array than the one you read, give each block "
                "its own element, or split the kernel in two launches."
            )
        if ATOMIC in kinds:
            return f"Put {names.syncthreads} between the atomic and the plain access, or make both atomic."
        if update:
            return (
                f"An update is a read, an operation and a write: use {names.atomic_add}, or give each thread an "
                "element of its own."
            )
        if collide:
            return (
                "Only one thread may write an element between two barriers: give each thread its own, or use an atomic."
            )
        barrier = names.syncwarp if same_warp else names.syncthreads
        if one_line:
            return (
                f"In a loop, end every turn with {barrier}; within one turn, read into a variable first, then "
                f"{barrier}, then write."
            )
        if same_warp:
            return (
                f"Both threads are in the same warp: add {barrier} between the two accesses, since the threads of a "
                "warp need not run in step."
            )
        return (
            f"Put {barrier} between the two accesses, where all threads of the block pass; in a loop that means one "
            "after the write and one after the last read."
        )


@dataclass
class _Pair:
    """The first example of a folded race."""

    access: Access
    old_kind: str
    old: int
    now: int
    unit: int
    interblock: bool
    same_value: bool

    def __post_init__(self) -> None:
        # Only the operation and the place are needed later; let go of the per-lane arrays.
        empty = np.empty(0, np.int64)
        self.access = Access(self.access.op, self.access.kind, self.access.memory, empty, empty)

    @property
    def kind(self) -> str:
        if self.access.memory.space == SHARED:
            return "race_shared"
        return "race_global_interblock" if self.interblock else "race_global"
