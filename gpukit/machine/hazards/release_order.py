"""Order made by fences and atomics: "the last block finishes the sum", spin locks, flags, barriers of the whole grid.

A thread that has executed a fence and then an atomic or a strong store on X releases what the fence covers: its own
earlier accesses, and those of its block from before the last barrier (or syncwarp) in front of the fence. A thread that
later executes an atomic or a strong load on X acquires it, and shares it with its block at the next barrier. Kept as
logs, looked into only for pairs of accesses that nothing else orders.
"""

from __future__ import annotations

import numpy as np

from gpukit.machine.hazards.shadow import THREAD_BITS
from gpukit.machine.lanes import Geometry, LaneSet, Wave

_LANE_BITS = 24  # a point in time is instruction << 24 | lane: lanes of one atomic go one after another

ANY_SCOPE, DEVICE_SCOPE = 0, 1


class _Log:
    """Columns of int64 that grow at the end."""

    def __init__(self, n_columns: int):
        self._parts: list[np.ndarray] = []
        self._table = np.empty((n_columns, 0), np.int64)

    def append(self, *columns: np.ndarray | int) -> None:
        self._parts.append(np.stack(np.broadcast_arrays(*columns)).astype(np.int64))

    def table(self) -> np.ndarray:
        """int64 (columns, entries), in the order of appending."""
        if self._parts:
            self._table = np.concatenate((self._table, *self._parts), axis=1)
            self._parts = []
        return self._table


class _Latest:
    """Finds, per group, the newest entry before a point in time."""

    def __init__(self, group: np.ndarray, time: np.ndarray):
        self._order = np.lexsort((time, group))
        self._group = group[self._order]
        self._time = time[self._order]
        self._starts = np.flatnonzero(np.concatenate(([True], self._group[1:] != self._group[:-1])))
        self._names = self._group[self._starts]
        # One sortable key per entry: (number of the group, rank of the time).
        self._times = np.unique(self._time)
        number = np.repeat(np.arange(self._starts.size, dtype=np.int64), np.diff(self._starts, append=group.size))
        self._key = number << 32 | np.searchsorted(self._times, self._time)

    def running_max(self, value: np.ndarray) -> np.ndarray:
        """For each entry (in sorted order) the largest value of its group so far."""
        number = self._key >> 32
        shift = number << 40
        return np.maximum.accumulate(value[self._order] + shift) - shift

    def find(self, group: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Sorted position of the newest entry of `group` strictly before a time, -1 where there is none."""
        number = np.minimum(np.searchsorted(self._names, group), self._names.size - 1).astype(np.int64, copy=False)
        position = np.searchsorted(self._key, number << 32 | np.searchsorted(self._times, before)) - 1
        found = (self._names[number] == group) & (position >= self._starts[number])
        return np.where(found, position, -1)

    def time(self, position: np.ndarray) -> np.ndarray:
        """Time of entries by sorted position; -1 for position -1."""
        return np.where(position >= 0, self._time[position], -1)


class _Releases:
    """Releases on one place, from a table with the columns of ReleaseOrder's log."""

    def __init__(self, table: np.ndarray):
        _, block, thread, own, others, moment, _ = table
        self._of_block = _Latest(block, moment)
        self._of_thread = _Latest(block << THREAD_BITS | thread, moment)
        self._others = self._of_block.running_max(others)
        self._own = self._of_thread.running_max(own)

    def cover(self, block: np.ndarray, thread: np.ndarray, time: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Whether accesses at `time` by threads of blocks were released before the points in time `before`."""
        result = np.zeros(block.size, bool)
        for latest, covered, group in (
            (self._of_block, self._others, block),
            (self._of_thread, self._own, block << THREAD_BITS | thread),
        ):
            found = latest.find(group, before)
            result |= (found >= 0) & (time <= covered[found])
        return result


class _Acquisitions:
    """Acquisitions of a wave, from a table of (place, wave lane, time)."""

    def __init__(self, table: np.ndarray, lanes_per_block: int):
        self._place, self._lane, self._moment = table
        self._block = self._lane // lanes_per_block
        self._by_place: dict[int, tuple[_Latest, _Latest]] = {}

    def places_of(self, blocks: np.ndarray) -> list[int]:
        """Places that lanes of some blocks (numbers in the wave, one at least) have acquired."""
        low, high = blocks.min(), blocks.max()
        near = self._block == low if low == high else np.isin(self._block, blocks)
        return np.unique(self._place[near]).tolist()

    def latest(self, place: int, lane: np.ndarray, block: np.ndarray, synced: np.ndarray) -> np.ndarray:
        """When lanes last acquired a place, themselves or, before `synced`, by a lane of their block; -1 for never."""
        if place not in self._by_place:
            here = self._place == place
            moment = self._moment[here]
            self._by_place[place] = _Latest(self._lane[here], moment), _Latest(self._block[here], moment)
        by_lane, by_block = self._by_place[place]
        now = np.full(lane.size, np.iinfo(np.int64).max)
        return np.maximum(by_lane.time(by_lane.find(lane, now)), by_block.time(by_block.find(block, synced)))


class ReleaseOrder:
    """Logs of releases (whole launch) and acquisitions (current wave)."""

    def __init__(self, geometry: Geometry):
        self.geometry = geometry
        self._released = _Log(7)  # place, block, thread, own coverage, block coverage, time, scope
        self._acquired = _Log(3)  # place, wave lane, time: all but the newest of each lane
        self._released_places = np.empty(0, np.int64)
        self._by_place: dict[tuple[int, int], _Releases] = {}

    def begin_wave(self, wave: Wave) -> None:
        """No lane has fenced, synchronised or acquired anything yet."""
        self.wave = wave
        n = wave.n_lanes
        self._synced = np.zeros(n, np.int64)  # last barrier or syncwarp of the lane
        self._own = np.zeros((2, n), np.int64)  # own accesses before this time are fenced, by scope
        self._block = np.zeros((2, n), np.int64)  # likewise the block's
        self._last_place = np.full(n, -1, np.int64)
        self._last_cover = np.zeros(n, np.int64)
        self._acquired = _Log(3)
        self._newest_place = np.full(n, -1, np.int64)  # the lane's last acquisition
        self._newest_time = np.zeros(n, np.int64)
        self._acquisitions: _Acquisitions | None = None

    def fence(self, lanes: LaneSet, scope: str, time: int) -> None:
        """A fence of scope "block", "device" or "system"."""
        where = lanes.lanes
        for row in (ANY_SCOPE,) if scope == "block" else (ANY_SCOPE, DEVICE_SCOPE):
            self._own[row, where] = time
            self._block[row, where] = np.maximum(self._block[row, where], self._synced[where])

    def barrier(self, blocks: np.ndarray | None, time: int) -> None:
        """Blocks (numbers in the wave; None: all) passed a barrier: each lane shares what all have fenced."""
        shape = (self.wave.n_blocks, self.geometry.lanes_per_block)
        which = slice(None) if blocks is None else blocks
        self._synced.reshape(shape)[which] = time
        for row in (ANY_SCOPE, DEVICE_SCOPE):
            own, block = self._own[row].reshape(shape), self._block[row].reshape(shape)
            block[which] = np.maximum(own[which], block[which]).max(axis=1, keepdims=True)

    def syncwarp(self, lanes: LaneSet, time: int) -> None:
        """The lanes of each warp in the set met."""
        self._meet(lanes, lanes.warp_starts, time)

    def part_barrier(self, lanes: LaneSet, time: int) -> None:
        """The lanes of each block in the set met at a barrier that the rest of the block did not take part in."""
        blocks = lanes.blocks
        self._meet(lanes, np.flatnonzero(np.concatenate(([True], blocks[1:] != blocks[:-1]))), time)

    def _meet(self, lanes: LaneSet, starts: np.ndarray, time: int) -> None:
        where = lanes.lanes
        sizes = np.diff(starts, append=lanes.n)
        self._synced[where] = time
        for row in (ANY_SCOPE, DEVICE_SCOPE):
            best = np.maximum.reduceat(np.maximum(self._own[row, where], self._block[row, where]), starts)
            self._block[row, where] = np.repeat(best, sizes)

    def release(self, place: np.ndarray, lanes: LaneSet, time: int) -> None:
        """Atomics or strong stores on `place` (a number for the granule, int64 (n,)), lane after lane: what the lanes
        have fenced before is released there."""
        where = lanes.lanes
        cover = np.maximum(self._own[ANY_SCOPE, where], self._block[ANY_SCOPE, where])
        fresh = (cover > 0) & ((self._last_place[where] != place) | (self._last_cover[where] != cover))
        moment = (time << _LANE_BITS) + where
        chosen = np.flatnonzero(fresh)
        if chosen.size:
            lane = where[chosen]
            block, thread = np.divmod(lane, self.geometry.lanes_per_block)
            block += self.wave.first_block
            for row in (ANY_SCOPE, DEVICE_SCOPE):
                own, others = self._own[row, lane], self._block[row, lane]
                self._released.append(place[chosen], block, thread, own, others, moment[chosen], row)
            self._last_place[lane] = place[chosen]
            self._last_cover[lane] = cover[chosen]
            self._released_places = np.union1d(self._released_places, place[chosen])
            self._by_place.clear()

    def acquire(self, place: np.ndarray, lanes: LaneSet, time: int) -> None:
        """Atomics or strong loads on `place`, as for `release`: what was released there before is acquired."""
        if self._released_places.size:
            where = lanes.lanes
            moment = (time << _LANE_BITS) + where
            seen = np.flatnonzero(np.isin(place, self._released_places))
            if seen.size:
                self._acquire(place[seen], where[seen], moment[seen])

    def _acquire(self, place: np.ndarray, lane: np.ndarray, moment: np.ndarray) -> None:
        """A lane's newest acquisition replaces the one before, unless that was another place or is already shared."""
        before, time = self._newest_place[lane], self._newest_time[lane]
        keep = np.flatnonzero((before >= 0) & ((before != place) | (time < self._synced[lane] << _LANE_BITS)))
        if keep.size:
            self._acquired.append(before[keep], lane[keep], time[keep])
        self._newest_place[lane] = place
        self._newest_time[lane] = moment
        self._acquisitions = None

    def _all_acquisitions(self) -> _Acquisitions:
        """Acquisitions by lanes of the wave."""
        if self._acquisitions is None:
            newest = np.flatnonzero(self._newest_place >= 0)
            now = np.stack((self._newest_place[newest], newest, self._newest_time[newest]))
            table = np.concatenate((self._acquired.table(), now), axis=1)
            self._acquisitions = _Acquisitions(table, self.geometry.lanes_per_block)
        return self._acquisitions

    def _releases(self, place: int, scope: int) -> _Releases | None:
        """Releases on a place by fences of at least a scope; None when there are none."""
        found = self._by_place.get((place, scope))
        if found is None:
            table = self._released.table()
            table = table[:, (table[0] == place) & (table[6] == scope)]
            if not table.shape[1]:
                return None
            found = self._by_place[place, scope] = _Releases(table)
        return found

    def ordered(
        self,
        old: tuple[np.ndarray, np.ndarray, np.ndarray],
        lane: np.ndarray,
        atomic_place: np.ndarray | None = None,
    ) -> np.ndarray:
        """Whether earlier accesses happen before what lanes do now.

        Args:
            old: block (in the grid), thread and instruction time of the earlier accesses, int64 (n,) each.
            lane: wave lane of the present access, int64 (n,).
            atomic_place: the granule of each pair, given when the earlier accesses were atomics: an atomic that
                the thread's own atomic came after is ordered with what the thread then does there.
        """
        block, thread, time = old
        result = np.zeros(lane.size, bool)
        own_block = lane // self.geometry.lanes_per_block
        acquisitions = self._all_acquisitions()
        synced = self._synced[lane] << _LANE_BITS
        same_block = block == own_block + self.wave.first_block
        for place in acquisitions.places_of(own_block):
            acquired = acquisitions.latest(place, lane, own_block, synced)
            for row, pairs in ((ANY_SCOPE, same_block), (DEVICE_SCOPE, ~same_block)):
                ask = np.flatnonzero(pairs & (acquired >= 0) & ~result)
                releases = self._releases(place, row) if ask.size else None
                if releases is not None:
                    result[ask] = releases.cover(block[ask], thread[ask], time[ask], acquired[ask])
            if atomic_place is not None:
                result |= (atomic_place == place) & (time << _LANE_BITS < acquired)
        return result
