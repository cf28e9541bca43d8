"""Sliced ELL in which a row gets as many lanes as it needs: a lane does several short rows, or one, or shares one with
other lanes, and a long row gets one warp or more; in one format and one launch.

A slice is what one warp does, in lines of 32 slots, one for each lane. All rows of a slice get the same share of the
warp, so that it holds 128 rows to 1, and it has as many lines as its longest row needs. A row that would keep a warp
for too long is cut into pieces, a slice each; the warp that is done last adds up what the others have found. Columns
are stored as 16-bit distances from the leftmost one of their line, where those of a slice allow it: 6 bytes a float32
entry, not 8.

Source: slices and sorting windows as in ell.py; several threads a row are Anzt, Tomov and Dongarra, "Implementing a
sparse matrix vector product for the SELL-C/SELL-C-sigma formats on NVIDIA GPUs" (UT-EECS-14-727, 2014); short columns
are Willcock and Lumsdaine, "Accelerating sparse matrix computations via data compression" (ICS 2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import MatrixError
from .arrays import Array, owners_of, stable_order, starts_of, xp_of
from .csr import Csr, rows_and_places

LANES = 32  # of a warp, and slots of a line
FAR = 0xFFFF  # padding among 16-bit columns; a 32-bit column of two of them is PADDING
# log2 of the lanes of a row, from four rows to a lane to a row that has the whole warp.
LEAST_SHIFT, MOST_SHIFT = -2, 5
MOST_ROWS = LANES << -LEAST_SHIFT  # of a slice
MANY_ENTRIES = 8  # of a row, so that two lanes have enough to do
# What the columns of `Hybrid.slices` hold.
LINE, LINES, COLUMN, WIDE, FIRST, COUNT, SHIFT = range(7)
FIELDS = 8  # a power of two, so that C++ reads them by two loads of 16 bytes
# Columns of `Hybrid.split`.
ROW, PART, PARTS = range(3)


@dataclass(frozen=True)
class Hybrid:
    """The format's arrays, as its kernels take them.

    slices: (slices, 8) int32. LINE, LINES: its slots are those of lines LINE up to LINE + LINES. COLUMN: its columns
        begin at columns[32 * COLUMN]. WIDE: 1 where they are 32-bit. FIRST, COUNT: its rows are places FIRST up to
        FIRST + COUNT. SHIFT: log2 of the lanes of each. With 2^SHIFT lanes, place p has the lanes from p << SHIFT on.
        With a negative SHIFT a lane has 2^-SHIFT rows, places lane, lane + 32, ..., which take lines by turns.
    bases: (lines,) int32: what is added to the 16-bit columns of a line.
    columns: uint16, FAR where a slot is padding; far: the same memory as int32, for the slices that are wide.
    values: (32 * lines,).
    rows: (places,) int32: the row of a place, or ~p for the piece p of a row that was cut; empty where every place is
        its own row.
    split: (rows that were cut, 3) int32: ROW, and its pieces are PART up to PART + PARTS. owners: (pieces,) int32,
        which of `split` a piece belongs to.
    sums: (pieces,), the kernel's scratch memory; arrived: (rows that were cut,) int32, 0 before and after a product.
    """

    shape: tuple[int, int]
    slices: Array
    bases: Array
    columns: Array
    values: Array
    rows: Array
    split: Array
    owners: Array
    sums: Array
    arrived: Array
    nnz: int

    @property
    def far(self) -> Array:
        return self.columns.view(np.int32)

    @property
    def slots(self) -> int:
        return int(self.values.size)

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix as it is stored; the scratch memory is not counted."""
        stored = self.slices, self.bases, self.columns, self.values, self.rows, self.split, self.owners
        return int(sum(array.nbytes for array in stored))

    @classmethod
    def from_csr(cls, csr: Csr, steps: int = 32, sigma: int = 1, least: int | None = None) -> Hybrid:
        """`steps`: a row gets lanes until it needs no more lines than that, and is cut where 32 lanes are too few.
        `least`: log2 of the fewest lanes of a row; -1 and -2 for up to 2 and 4 rows a lane, where that needs no more
        lines either. None for what `least_share` says.
        `sigma` rows are sorted together, by their lanes and then by their length; 1 brings together what has the same
        lanes and sorts nothing. Rows with a warp for themselves come first, the longest before all.

        Raises MatrixError for steps or sigma below 1, and for a share that there is not.
        """
        if steps < 1 or sigma < 1:
            raise MatrixError(f"{steps} steps and a sigma of {sigma} make no slices; both must be 1 or more")
        least = least_share(csr, sigma) if least is None else least
        if not LEAST_SHIFT <= least <= MOST_SHIFT:
            raise MatrixError(f"a row gets 2^{LEAST_SHIFT} to 2^{MOST_SHIFT} lanes at least, not 2^{least}")
        xp = xp_of(csr.data)
        pieces = _Pieces(csr.lengths, steps, sigma, least)
        order = pieces.order()
        slices, slice_of, place_in_slice = pieces.slices(order)

        # Where each entry lies: its slice, the line and the lane.
        place_of = xp.empty(order.size, np.int64)
        place_of[order] = xp.arange(order.size)
        row, k = rows_and_places(csr)
        place = place_of[pieces.first[row] + k // pieces.most]
        k = k.astype(np.int64) % pieces.most
        at, within = slice_of[place], place_in_slice[place]
        shift = slices[at, SHIFT]
        lanes, rows_of_lane = xp.maximum(shift, 0), xp.maximum(-shift, 0)  # log2 of both
        groups = LANES >> lanes
        line = slices[at, LINE] + ((k >> lanes) << rows_of_lane) + within // groups
        lane = ((within % groups) << lanes) + (k & ((1 << lanes) - 1))

        values = xp.zeros(int(slices[:, LINES].sum()) * LANES, csr.dtype)
        values[line * LANES + lane] = csr.data
        bases, columns = _place_columns(slices, at, line, lane, csr.indices)
        return cls(
            csr.shape,
            slices.astype(np.int32),
            bases,
            columns,
            values,
            pieces.rows_of_places(order),
            pieces.split,
            pieces.owners,
            xp.zeros(pieces.owners.size, csr.dtype),
            xp.zeros(len(pieces.split), np.int32),
            csr.nnz,
        )


def slots_of(lengths: Array, steps: int = 32, sigma: int = 1, least: int = 0) -> int:
    """How many slots the format would have for rows of these lengths, padding and all."""
    pieces = _Pieces(lengths, steps, sigma, least)
    slices, _, _ = pieces.slices(pieces.order())
    return int(slices[:, LINES].sum()) * LANES


def least_share(csr: Csr, sigma: int) -> int:
    """log2 of the fewest lanes that a row had better get, by what its columns are like.

    Where neighbouring rows have neighbouring columns, more loads under way are what helps: a lane does 4 short rows, or
    2 where sorting has put rows of other places together. Where columns are far apart, it is the cache that limits: two
    lanes for a row read more of a sector at once, unless rows are so short that one of them would have nothing to do.
    """
    if not _neighbours_read_near(csr):
        return 1 if csr.nnz >= MANY_ENTRIES * csr.rows else 0
    return LEAST_SHIFT if sigma == 1 else LEAST_SHIFT + 1


def _neighbours_read_near(csr: Csr) -> bool:
    """Whether the first columns of 32 neighbouring rows mostly lie within the reach of 16 bits. Empty rows count with
    the column that follows."""
    xp, whole = xp_of(csr.data), csr.rows // LANES * LANES
    if not whole or not csr.nnz:
        return True
    first = csr.indices[xp.minimum(csr.indptr[:whole], csr.nnz - 1)].reshape(-1, LANES)
    return bool((first.max(axis=1) - first.min(axis=1) < FAR).mean() >= 0.5)


class _Pieces:
    """Rows, and the pieces of those that are too long for one warp, in the order of the matrix.

    most: entries of a piece. first: (rows + 1,), the first piece of a row. row, shift, width: (pieces,): whose it is,
    log2 of its lanes, the most entries that a lane has of it. All int64. is_cut: (pieces,) bool, whether its row has
    others. split, owners: as in `Hybrid`.
    """

    def __init__(self, lengths: Array, steps: int, sigma: int, least: int) -> None:
        xp = self.xp = xp_of(lengths)
        self.sigma, self.least = min(sigma, max(int(lengths.size), 1)), least
        most = self.most = LANES * steps
        lengths = lengths.astype(np.int64)
        pieces = xp.maximum(-(-lengths // most), 1)
        first = self.first = starts_of(pieces)
        count = int(first[-1])
        self.row = owners_of(first[:-1], count)
        length = xp.minimum(lengths[self.row] - (xp.arange(count) - first[self.row]) * most, most)
        self.is_cut = pieces[self.row] > 1
        self.shift = xp.full(count, least, np.int64)
        for shift in range(least, MOST_SHIFT):
            self.shift += length > (steps << shift if shift >= 0 else steps >> -shift)
        self.shift[self.is_cut] = MOST_SHIFT
        self._split_rows(pieces)
        if sigma == 1 and count:
            self._even_out_short_rows()
        lanes = xp.maximum(self.shift, 0)
        self.width = (length + (1 << lanes) - 1) >> lanes

    def _even_out_short_rows(self) -> None:
        """Short rows get the lanes of the longest short row near them, so that none leaves its place where rows are
        nearly even, as those of a grid are."""
        xp, group = self.xp, self.row // MOST_ROWS
        short = self.shift <= max(self.least, 0)
        longest = xp.full(int(group[-1]) + 1, self.least, np.int32)
        xp.maximum.at(longest, group[short], self.shift[short].astype(np.int32))
        self.shift[short] = longest[group[short]]

    def _split_rows(self, pieces: Array) -> None:
        """Set `split` and `owners`, given how many pieces each row has."""
        xp = self.xp
        cut = xp.flatnonzero(pieces > 1)
        self.split = xp.zeros((cut.size, 3), np.int32)
        self.split[:, ROW], self.split[:, PARTS] = cut, pieces[cut]
        parts = starts_of(pieces[cut])
        self.split[:, PART] = parts[:-1]
        self.owners = owners_of(parts[:-1], int(parts[-1])).astype(np.int32)

    def rows_of_places(self, order: Array) -> Array:
        """`Hybrid.rows`, given which piece has each place."""
        xp = self.xp
        target = self.row.copy()
        target[self.is_cut] = ~xp.arange(self.owners.size)
        if not self.owners.size and bool((target[order] == xp.arange(order.size)).all()):
            return xp.zeros(0, np.int32)
        return target[order].astype(np.int32)

    def order(self) -> Array:
        """(pieces,) place -> piece: by group, by width, longest first; without sorting by group alone."""
        xp = self.xp
        if not self.row.size:
            return xp.zeros(0, np.int64)
        most = int(self.width.max()) + 1
        width = xp.where(self.shift == MOST_SHIFT, self.width, 0) if self.sigma == 1 else self.width
        return stable_order(self.group() * most + (most - 1 - width))

    def group(self) -> Array:
        """(pieces,) int64: those of a group share slices: rows of one window with the same lanes, most lanes first.

        Rows that have a warp for themselves are a group of their own and come first: they lose no locality wherever
        they go, and what takes longest had better begin first. Without sorting there is one window.
        """
        xp = self.xp
        window = xp.zeros_like(self.row) if self.sigma == 1 else self.row // self.sigma
        alone = self.shift == MOST_SHIFT
        return xp.where(alone, 0, 1 + window * (MOST_SHIFT - self.least) + MOST_SHIFT - 1 - self.shift)

    def slices(self, order: Array) -> tuple[Array, Array, Array]:
        """The slices of places in that order, all but COLUMN and WIDE; of each place, its slice and where in it."""
        xp, group = self.xp, self.group()[order]
        members = xp.bincount(group, minlength=1)
        first = starts_of(members)
        shift_of = xp.full(members.size, MOST_SHIFT, np.int64)
        shift_of[group] = self.shift[order]
        held = MOST_ROWS >> (shift_of - LEAST_SHIFT)  # rows of a full slice
        made = starts_of(-(-members // held))
        rank = xp.arange(order.size) - first[group]
        slice_of, within = made[group] + rank // held[group], rank % held[group]

        count = int(made[-1])
        of_slice = owners_of(made[:-1], count)
        width = xp.zeros(count, np.int32)
        if count:
            xp.maximum.at(width, slice_of, self.width[order].astype(np.int32))
        slices = xp.zeros((count, FIELDS), np.int64)
        slices[:, SHIFT] = shift_of[of_slice]
        slices[:, LINES] = width.astype(np.int64) << xp.maximum(-slices[:, SHIFT], 0)
        slices[:, LINE] = starts_of(slices[:, LINES])[:-1]
        slices[:, FIRST] = first[of_slice] + (xp.arange(count) - made[of_slice]) * held[of_slice]
        slices[:, COUNT] = xp.minimum(held[of_slice], first[of_slice] + members[of_slice] - slices[:, FIRST])
        return slices, slice_of, within


def _place_columns(slices: Array, at: Array, line: Array, lane: Array, indices: Array) -> tuple[Array, Array]:
    """`Hybrid.bases` and `Hybrid.columns`, given the slice, line and lane of each entry; sets WIDE and COLUMN."""
    xp = xp_of(indices)
    lines = int(slices[:, LINES].sum())
    left, right = xp.full(lines, np.iinfo(np.int32).max, np.int32), xp.zeros(lines, np.int32)
    xp.minimum.at(left, line, indices)
    xp.maximum.at(right, line, indices)
    bases = xp.minimum(left, right)  # those of a line of padding alone, too
    if lines:
        wide = xp.zeros(len(slices), np.int32)
        too_far = right.astype(np.int64) - bases >= FAR
        xp.maximum.at(wide, owners_of(slices[:, LINE], lines), too_far.astype(np.int32))
        slices[:, WIDE] = wide
    starts = starts_of(slices[:, LINES] * (1 + slices[:, WIDE]))
    slices[:, COLUMN] = starts[:-1]
    columns = xp.full(int(starts[-1]) * LANES, FAR, np.uint16)
    start = slices[at, COLUMN] * LANES
    slot = (line - slices[at, LINE]) * LANES + lane
    near = slices[at, WIDE] == 0
    columns[start[near] + slot[near]] = (indices[near] - bases[line[near]]).astype(np.uint16)
    columns.view(np.int32)[start[~near] // 2 + slot[~near]] = indices[~near]
    return bases, columns
