"""Vector clocks: which lanes of a warp know of which earlier accesses because a syncwarp named both, and which warps of
a block because they met at a barrier that only part of the block takes part in.

Time is the number of the memory or synchronisation instruction. Lane a knows everything lane b did before time
`clock[a, b]`. A syncwarp of a whole warp only raises one number per warp; the lanes x 32 clocks of a warp exist once
a part of it synchronised.
"""

from __future__ import annotations

import numpy as np

from gpukit.machine.lanes import WARP_SIZE, LaneSet, Wave

NAMED_BARRIERS = 16


class WarpClocks:
    """Clocks of the warps of one wave."""

    def __init__(self, wave: Wave):
        everyone = wave.everyone
        n_warps = wave.n_lanes // WARP_SIZE
        self._whole = np.zeros(n_warps, np.int32)  # every lane of the warp knows all lanes before this time
        self._exists = np.zeros(n_warps, np.uint32)
        bits = np.uint32(1) << (everyone.lanes & 31).astype(np.uint32)
        self._exists[everyone.warps[everyone.warp_starts]] = np.bitwise_or.reduceat(bits, everyone.warp_starts)
        self._row = np.full(n_warps, -1, np.int64)  # warp -> its clocks, -1: none yet
        self._clocks = np.zeros((0, WARP_SIZE, WARP_SIZE), np.int32)
        self._rows = 0

    def sync(self, lanes: LaneSet, groups: np.ndarray | np.generic | None, time: int) -> None:
        """The lanes of each warp met; lanes of one warp with different `groups` (their masks) met separately."""
        warps, place = lanes.warps, lanes.lanes & 31
        starts = lanes.warp_starts
        if isinstance(groups, np.ndarray) and groups.size > 1 and (groups != groups[0]).any():
            key = warps << 32 | groups.astype(np.int64) & 0xFFFFFFFF
            order = np.argsort(key, kind="stable")
            key, warps, place = key[order], warps[order], place[order]
            starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
        met = np.bitwise_or.reduceat(np.uint32(1) << place.astype(np.uint32), starts)
        warp = warps[starts]
        whole = met == self._exists[warp]
        self._whole[warp[whole]] = time
        if whole.all():
            return
        sizes = np.diff(starts, append=warps.size)
        part = np.repeat(~whole, sizes)
        warp, met, sizes, place = warp[~whole], met[~whole], sizes[~whole], place[part]
        rows = np.repeat(self._rows_of(warp), sizes)
        group_starts = np.cumsum(sizes) - sizes
        joined = np.maximum.reduceat(self._clocks[rows, place], group_starts, axis=0)
        members = (met[:, None] >> np.arange(WARP_SIZE, dtype=np.uint32) & np.uint32(1)).astype(bool)
        joined[members] = time
        self._clocks[rows, place] = np.repeat(joined, sizes, axis=0)

    def _rows_of(self, warp: np.ndarray) -> np.ndarray:
        """Rows of the clocks of these warps, made where missing."""
        new = np.unique(warp[self._row[warp] < 0])
        if new.size:
            needed = self._rows + new.size
            if needed > self._clocks.shape[0]:
                grown = np.zeros((max(needed, 2 * self._clocks.shape[0]), WARP_SIZE, WARP_SIZE), np.int32)
                grown[: self._rows] = self._clocks[: self._rows]
                self._clocks = grown
            self._row[new] = np.arange(self._rows, needed)
            self._rows = needed
        return self._row[warp]

    def known(self, lane: np.ndarray, other: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Whether wave lane `lane` knows what lane `other` of its warp (wave lane number) did at `time`: bool (n,)."""
        warp = lane >> 5
        known = time < self._whole[warp]
        row = self._row[warp]
        ask = np.flatnonzero(~known & (row >= 0))
        if ask.size:
            known[ask] = time[ask] < self._clocks[row[ask], lane[ask] & 31, other[ask] & 31]
        return known


class BlockClocks:
    """Clocks of the warps of each block: warp w of a block knows everything its warp v did before `clock[w, v]`.

    They move at named barriers, where a warp that arrives without waiting gives what it knows and takes nothing. Lanes
    of one warp count as one, as for the hardware, which wants whole warps there.
    """

    def __init__(self, wave: Wave):
        self._warps = wave.geometry.warps_per_block
        shape = (wave.n_blocks, self._warps)
        self._clocks = np.zeros((*shape, self._warps), np.int32)
        self._brought = np.zeros((NAMED_BARRIERS, *shape), np.int32)  # what those who arrived so far know

    def arrive(self, lanes: LaneSet, number: int, time: int) -> None:
        """Lanes reach barrier `number` of their blocks."""
        block, warp = self._place(lanes)
        brought = self._brought[number]
        np.maximum.at(brought, block, self._clocks[block, warp])
        brought[block, warp] = time

    def open(self, lanes: LaneSet, number: int) -> None:
        """Lanes that waited at barrier `number` go on, knowing what all who arrived there brought."""
        block, warp = self._place(lanes)
        self._clocks[block, warp] = np.maximum(self._clocks[block, warp], self._brought[number, block])

    def clear(self, blocks: np.ndarray, number: int) -> None:
        """Barrier `number` of these blocks is as new."""
        self._brought[number, blocks] = 0

    def _place(self, lanes: LaneSet) -> tuple[np.ndarray, np.ndarray]:
        return np.divmod(lanes.warps[lanes.warp_starts], self._warps)

    def known(self, lane: np.ndarray, other: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Whether wave lane `lane` knows what lane `other` of its block (wave lane number) did at `time`: bool (n,)."""
        block, warp = np.divmod(lane >> 5, self._warps)
        return time < self._clocks[block, warp, (other >> 5) % self._warps]
