"""Where lanes live: the launch's geometry, the wave of blocks that is resident, and sets of active lanes.

Blocks are padded to whole warps, so that lane g of a wave is in warp g // 32 at place g % 32 whatever the block size;
the padding lanes never exist and are in no lane set. Threads are linearised x fastest, then y, then z, as on hardware.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

WARP_SIZE = 32
MAX_ANCESTORS = 32
Index = TypeVar("Index", int, np.ndarray)


class Geometry:
    """Grid and block shape of a launch, and how lanes are numbered."""

    def __init__(self, grid: tuple[int, int, int], block: tuple[int, int, int]):
        self.grid = grid
        self.block = block
        self.threads_per_block = block[0] * block[1] * block[2]
        self.warps_per_block = -(-self.threads_per_block // WARP_SIZE)
        self.lanes_per_block = self.warps_per_block * WARP_SIZE
        self.n_blocks = grid[0] * grid[1] * grid[2]
        self.padded = self.lanes_per_block != self.threads_per_block

    def block_index(self, linear: Index) -> tuple[Index, Index, Index]:
        """(x, y, z) of a linear block number, or of an array of them."""
        gx, gy, _ = self.grid
        return linear % gx, linear // gx % gy, linear // (gx * gy)

    def thread_index(self, linear: Index) -> tuple[Index, Index, Index]:
        """(x, y, z) of a linear thread number inside its block, or of an array of them."""
        bx, by, _ = self.block
        return linear % bx, linear // bx % by, linear // (bx * by)


class Wave:
    """`n_blocks` consecutive blocks from `first_block` on, run together. Lane g belongs to block
    `first_block + g // lanes_per_block` and is thread g % lanes_per_block of it."""

    def __init__(self, geometry: Geometry, first_block: int, n_blocks: int):
        self.geometry = geometry
        self.first_block = first_block
        self.n_blocks = n_blocks
        self.n_lanes = n_blocks * geometry.lanes_per_block
        # Said, since NumPy's own integers have 32 bits where addresses do, as in a browser, and keys are made of these.
        self.all_lanes = np.arange(self.n_lanes, dtype=np.int64)
        if geometry.padded:
            exists = self.all_lanes % geometry.lanes_per_block < geometry.threads_per_block
            self.everyone = LaneSet(self, self.all_lanes[exists])
        else:
            self.everyone = LaneSet(self, None)

    def locate(self, lane: int) -> tuple[int, int]:
        """(linear block number in the grid, linear thread number in the block) of a lane of this wave."""
        block, thread = divmod(int(lane), self.geometry.lanes_per_block)
        return self.first_block + block, thread


class LaneSet:
    """Lanes of a wave in ascending order. Per-lane values for the set are "compact": entry i is for lane `lanes[i]`.

    `index` is None when every lane number of the wave is in the set, so compact and full vectors are the same.
    `parent` is the set this one was split from: when all the parts meet again the parent is taken back.
    """

    __slots__ = ("_blocks", "_starts", "_warps", "depth", "index", "n", "parent", "wave")

    def __init__(self, wave: Wave, index: np.ndarray | None, parent: LaneSet | None = None):
        self.wave = wave
        self.index = index
        self.n = wave.n_lanes if index is None else index.size
        # A loop that lanes leave one by one makes a long line of ancestors: keep only the oldest, or they fill memory.
        far = parent is not None and parent.depth >= MAX_ANCESTORS
        self.parent: LaneSet | None = parent.parent if parent is not None and far else parent
        self.depth: int = 0 if self.parent is None else self.parent.depth + 1
        self._blocks: np.ndarray | None = None
        self._warps: np.ndarray | None = None
        self._starts: np.ndarray | None = None

    @property
    def lanes(self) -> np.ndarray:
        """Lane numbers, int64 (n,), ascending."""
        return self.wave.all_lanes if self.index is None else self.index

    @property
    def warps(self) -> np.ndarray:
        """Warp number in the wave of each lane, int64 (n,)."""
        if self._warps is None:
            self._warps = self.lanes >> 5
        return self._warps

    @property
    def warp_starts(self) -> np.ndarray:
        """Positions in the set where another warp begins, intp (n_warps,); fit for ufunc.reduceat."""
        if self._starts is None:
            if self.index is None:
                self._starts = np.arange(0, self.n, WARP_SIZE)
            elif self.n == 1:
                self._starts = np.zeros(1, np.intp)
            else:
                warps = self.warps
                self._starts = np.flatnonzero(np.concatenate(([True], warps[1:] != warps[:-1])))
        return self._starts

    @property
    def n_warps(self) -> int:
        """Warps with at least one lane in the set."""
        return self.warp_starts.size

    @property
    def blocks(self) -> np.ndarray:
        """Block number in the wave of each lane, int64 (n,)."""
        if self._blocks is None:
            self._blocks = self.lanes // self.wave.geometry.lanes_per_block
        return self._blocks

    def subset(self, keep: np.ndarray) -> LaneSet:
        """The lanes where `keep` (bool (n,)) is true."""
        return LaneSet(self.wave, self.lanes[keep], self)


def tally(number: np.ndarray, minlength: int = 0, weights: np.ndarray | None = None) -> np.ndarray:
    """np.bincount of int64 numbers, wherever this runs: it takes none that are wider than an address."""
    return np.bincount(number.astype(np.intp, copy=False), weights, minlength)


def per_lane(lanes: LaneSet, per_warp: np.ndarray) -> np.ndarray:
    """Spread one value per warp over the lanes of the set."""
    return np.repeat(per_warp, np.diff(lanes.warp_starts, append=lanes.n))
