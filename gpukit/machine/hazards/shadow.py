"""Shadow memory: who touched each granule last, packed so that one XOR finds an unordered pair.

A granule is the smallest unit in which a piece of memory is accessed. A stamp is one int64 that says who accessed it:

    epoch | block | thread in block (10 bits) | source line

The epoch is a counter that rises at every barrier and never repeats, so two stamps with equal epoch and block were
made between the same two barriers of one block. Then `old ^ new` is below 2**(line bits + 10), and its thread bits are
zero exactly when both are one thread. Zero is "never".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

THREAD_BITS = 10

Stamp = TypeVar("Stamp", np.ndarray, int)

# Which of two earlier accesses is worth keeping beside the newest one: the one least likely to be ordered with it.
ORDERED, OTHER_THREAD, OTHER_WARP, OTHER_BLOCK = 0, 1, 2, 3


class StampLayout:
    """Where the fields of a stamp lie, for a launch of `n_blocks` blocks and a program of `n_lines` source lines."""

    def __init__(self, n_lines: int, n_blocks: int):
        self.thread_shift = max(1, (n_lines - 1).bit_length())
        self.block_shift = self.thread_shift + THREAD_BITS
        self.epoch_shift = self.block_shift + (n_blocks - 1).bit_length()
        self.line_mask = (1 << self.thread_shift) - 1
        self.block_mask = (1 << self.epoch_shift) - (1 << self.block_shift)
        self.warp_mask = (1 << self.block_shift) - (1 << (self.thread_shift + 5))
        self._near = 1 << self.thread_shift
        self._near_span = np.uint64((1 << self.block_shift) - self._near)

    def line(self, stamp: Stamp) -> Stamp:
        """Index into Program.lines."""
        return stamp & self.line_mask

    def thread(self, stamp: Stamp) -> Stamp:
        """Linear thread number in its block."""
        return stamp >> self.thread_shift & ((1 << THREAD_BITS) - 1)

    def block(self, stamp: Stamp) -> Stamp:
        """Linear block number in the grid."""
        return (stamp & self.block_mask) >> self.block_shift

    def other_thread(self, difference: np.ndarray) -> np.ndarray:
        """Same epoch and block, another thread; `difference` is the XOR of two stamps."""
        return (difference - self._near).view(np.uint64) < self._near_span

    def other_block(self, difference: np.ndarray) -> np.ndarray:
        """Another block; `difference` is the XOR of two stamps."""
        return (difference & self.block_mask) != 0


class Order:
    """What orders accesses in one piece of memory: epochs, whether blocks share it, warp clocks if there are any.

    `floor`: stamps below it are ordered before everything now (set by grid barriers, or by a new wave).
    `known(now, old, time)`: whether a syncwarp or a barrier of part of the block ordered accesses `old`, made at `time`
    in the same block, before lanes `now`.
    """

    def __init__(self, layout: StampLayout, between_blocks: bool, known: Callable | None):
        self.layout = layout
        self.between_blocks = between_blocks and layout.block_mask != 0
        self.known = known
        self.floor = 1  # above "never"

    def unordered(self, old: np.ndarray, now: np.ndarray) -> np.ndarray:
        """Where no barrier orders `old` before `now` and they are different threads: bool, broadcast shape."""
        difference = old ^ now
        result = self.layout.other_thread(difference)
        if self.between_blocks:
            far = self.layout.other_block(difference)
            far &= old >= self.floor
            result |= far
        return result

    def rank(self, old: np.ndarray, now: np.ndarray, time: np.ndarray | None) -> np.ndarray:
        """ORDERED, OTHER_THREAD, OTHER_WARP or OTHER_BLOCK for each pair, int8."""
        difference = old ^ now
        near = self.layout.other_thread(difference)
        rank = near.astype(np.int8)
        rank[near & ((difference & self.layout.warp_mask) != 0)] = OTHER_WARP
        if self.between_blocks:
            rank[self.layout.other_block(difference) & (old >= self.floor)] = OTHER_BLOCK
        if self.known is not None and time is not None:
            ask = np.flatnonzero((rank == OTHER_THREAD) | (rank == OTHER_WARP))
            if ask.size:
                rank[ask[self.known(now[ask], old[ask], time[ask])]] = ORDERED
        return rank


class LastOne:
    """The last plain write of every granule."""

    def __init__(self, size: int, timed: bool):
        self.stamp = np.zeros(size, np.int64)
        self.time = np.zeros(size, np.int32) if timed else None

    def put(self, unit: np.ndarray, now: np.ndarray, time: int) -> np.ndarray | None:
        """Record writes; returns where another lane of the same instruction overwrote the granule, None if nowhere."""
        self.stamp[unit] = now
        lost = self.stamp[unit] != now
        if not lost.any():
            lost = None
        if self.time is not None:
            self.time[unit] = time
        return lost


class LastTwo:
    """Two accesses of every granule by different threads: the last one, and the earlier one least ordered with it.

    Two are enough: whatever comes next is another thread than one of them; if threads of two warps or of two blocks
    took part, it is another warp or block than one of them.
    """

    def __init__(self, size: int, timed: bool):
        self.first = np.zeros(size, np.int64)
        self.second = np.zeros(size, np.int64)
        self.first_time = np.zeros(size, np.int32) if timed else None
        self.second_time = np.zeros(size, np.int32) if timed else None

    def put(self, unit: np.ndarray, now: np.ndarray, time: int, order: Order) -> None:
        """Record accesses `now` (one stamp per lane) of granules `unit` at instruction number `time`."""
        before = self.first[unit]
        before_time = None if self.first_time is None else self.first_time[unit]
        self.first[unit] = now
        if self.first_time is not None:
            self.first_time[unit] = time
        newest = self.first[unit]
        is_newest = newest == now
        together = not is_newest.all()  # several lanes access one granule
        differs = order.unordered(before, now)
        if together:
            differs &= is_newest
        other = np.flatnonzero(differs)
        if other.size:
            times = None if before_time is None else before_time[other]
            self._keep(unit[other], before[other], now[other], times, order)
        if together:
            # The last lane of each granule stays; of the others the first is the furthest from it.
            scratch = np.empty_like(self.first)
            scratch[unit[::-1]] = now[::-1]
            lost = np.flatnonzero((scratch[unit] == now) & ~is_newest)
            times = None if self.first_time is None else np.full(lost.size, time, np.int32)
            self._keep(unit[lost], now[lost], newest[lost], times, order)

    def _keep(
        self, unit: np.ndarray, candidate: np.ndarray, newest: np.ndarray, time: np.ndarray | None, order: Order
    ) -> None:
        """Let candidates replace `second` where they are at least as unordered with the newest access."""
        rank = order.rank(candidate, newest, time)
        held_time = None if self.second_time is None else self.second_time[unit]
        held = order.rank(self.second[unit], newest, held_time)
        better = rank >= np.maximum(held, OTHER_THREAD)
        for level in (OTHER_THREAD, OTHER_WARP, OTHER_BLOCK):  # ascending, so that the best of several lanes stays
            chosen = np.flatnonzero(better & (rank == level))
            if not chosen.size:
                continue
            where = unit[chosen]
            self.second[where] = candidate[chosen]
            if self.second_time is not None and time is not None:
                self.second_time[where] = time[chosen]  # candidates for one granule are of one time


class Shadow:
    """All that is remembered about one piece of memory of `size` granules; parts appear when first needed."""

    def __init__(self, size: int, order: Order, timed: bool):
        self.size = size
        self.order = order
        self.timed = timed
        self.writes: LastOne | None = None
        self.reads: LastTwo | None = None
        self.strong_reads: LastTwo | None = None
        self.atomics: LastTwo | None = None  # and strong writes

    def record_write(self, unit: np.ndarray, now: np.ndarray, time: int) -> np.ndarray | None:
        """As `LastOne.put`."""
        if self.writes is None:
            self.writes = LastOne(self.size, self.timed)
        return self.writes.put(unit, now, time)

    def record_read(self, unit: np.ndarray, now: np.ndarray, time: int) -> None:
        """As `LastTwo.put`."""
        if self.reads is None:
            self.reads = LastTwo(self.size, self.timed)
        self.reads.put(unit, now, time, self.order)

    def record_strong_read(self, unit: np.ndarray, now: np.ndarray, time: int) -> None:
        """As `LastTwo.put`."""
        if self.strong_reads is None:
            self.strong_reads = LastTwo(self.size, self.timed)
        self.strong_reads.put(unit, now, time, self.order)

    def record_atomic(self, unit: np.ndarray, now: np.ndarray, time: int) -> None:
        """As `LastTwo.put`."""
        if self.atomics is None:
            self.atomics = LastTwo(self.size, self.timed)
        self.atomics.put(unit, now, time, self.order)

    def unwritten(self, unit: np.ndarray, since: int) -> np.ndarray:
        """Where no write or atomic with a stamp of at least `since` has reached the granule: bool, shape of `unit`."""
        result = np.ones(unit.shape, bool) if self.writes is None else self.writes.stamp[unit] < since
        if self.atomics is not None:
            result &= self.atomics.first[unit] < since
        return result
