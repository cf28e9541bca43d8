"""ELL and sliced ELL: rows padded to the longest of all, or of their slice. Padding has the column PADDING.

Source: ELL is Bell and Garland's, "Implementing sparse matrix-vector multiplication on throughput-oriented processors"
(SC 2009); sliced ELL with sorting windows is Kreutzer et al., "A unified sparse matrix data format for efficient
general sparse matrix-vector multiplication on modern processors with wide SIMD units" (SIAM J. Sci. Comput. 36, 2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import MatrixError
from .arrays import Array, stable_order, starts_of, xp_of
from .csr import Csr, rows_and_places

PADDING = -1  # the column of a slot that holds no entry


@dataclass(frozen=True)
class Ell:
    """Every row padded to the longest: slot k of row i lies at [k, i], so that neighbouring rows are neighbours.

    columns: (width, rows) int32, PADDING where a row has ended. values: (width, rows).
    """

    shape: tuple[int, int]
    columns: Array
    values: Array
    nnz: int

    @classmethod
    def from_csr(cls, csr: Csr, most_bytes: int | None = None) -> Ell:
        """Raises MatrixError where the padded matrix would take more than `most_bytes`."""
        xp = xp_of(csr.data)
        width = int(csr.lengths.max()) if csr.rows else 0
        slots = ell_slots(csr.lengths)
        needed = slots * (4 + csr.dtype.itemsize)
        if most_bytes is not None and needed > most_bytes:
            raise MatrixError(
                f"ELL would pad {csr.nnz:,} entries to {slots:,} slots, {needed / 1e9:,.1f} GB, since the longest of "
                f"{csr.rows:,} rows has {width:,}: use a sliced format"
            )
        columns = xp.full((width, csr.rows), PADDING, np.int32)
        values = xp.zeros((width, csr.rows), csr.dtype)
        row, place = rows_and_places(csr)
        columns[place, row], values[place, row] = csr.indices, csr.data
        return cls(csr.shape, columns, values, csr.nnz)

    @property
    def slots(self) -> int:
        return int(self.columns.size)

    @property
    def nbytes(self) -> int:
        return int(self.columns.nbytes + self.values.nbytes)


@dataclass(frozen=True)
class SlicedEll:
    """Slices of `height` rows, each as wide as its longest row, after sorting by length within windows of `sigma` rows.

    offsets: (slices + 1,) int64, where each slice begins, in slots: slot k of place p of a slice lies at
    offsets[slice] + k * height + p. The last slice has as many places as the others; those past the rows are padding.
    permutation: (rows,) int32: place -> row, the identity for sigma = 1. columns, values: (slots,).
    """

    shape: tuple[int, int]
    height: int
    sigma: int
    offsets: Array
    columns: Array
    values: Array
    permutation: Array
    nnz: int

    @classmethod
    def from_csr(cls, csr: Csr, height: int = 32, sigma: int = 1) -> SlicedEll:
        """`sigma` rows are sorted together, longest first, ties in their order: 1 sorts nothing, `rows` everything; it
        need not divide the rows nor be a multiple of the height. Raises MatrixError for a height or sigma below 1."""
        if height < 1 or sigma < 1:
            raise MatrixError(f"a height of {height} and a sigma of {sigma} make no slices; both must be 1 or more")
        xp = xp_of(csr.data)
        permutation = order_within_windows(csr.lengths, sigma)
        offsets = starts_of(_widths(csr.lengths[permutation], height) * height)
        slots = int(offsets[-1])
        columns, values = xp.full(slots, PADDING, np.int32), xp.zeros(slots, csr.dtype)
        row, k = rows_and_places(csr)
        place = xp.empty(csr.rows, np.int64)
        place[permutation] = xp.arange(csr.rows)
        place = place[row]
        slot = offsets[place // height] + k.astype(np.int64) * height + place % height
        columns[slot], values[slot] = csr.indices, csr.data
        return cls(csr.shape, height, sigma, offsets, columns, values, permutation, csr.nnz)

    @property
    def slots(self) -> int:
        return int(self.columns.size)

    @property
    def nbytes(self) -> int:
        arrays = self.offsets, self.columns, self.values, self.permutation
        return int(sum(array.nbytes for array in arrays))


def order_within_windows(lengths: Array, sigma: int) -> Array:
    """(rows,) int32, place -> row: the rows of each window of `sigma`, longest first, ties in their order."""
    xp = xp_of(lengths)
    if sigma == 1 or lengths.size == 0:
        return xp.arange(lengths.size, dtype=np.int32)
    window = xp.arange(lengths.size, dtype=np.int64) // min(sigma, lengths.size)
    key = (window + 1) * (int(lengths.max()) + 1) - 1 - lengths.astype(np.int64)
    return stable_order(key).astype(np.int32)


def ell_slots(lengths: Array) -> int:
    """How many slots ELL would have for rows of these lengths, padding and all."""
    return int(lengths.max()) * int(lengths.size) if lengths.size else 0


def slots_of(lengths: Array, height: int = 32, sigma: int = 1) -> int:
    """How many slots sliced ELL would have for rows of these lengths, padding and all."""
    ordered = lengths if sigma == 1 else lengths[order_within_windows(lengths, sigma)]
    return int(_widths(ordered, height).sum()) * height


def _widths(lengths: Array, height: int) -> Array:
    """(slices,) int64: the longest row of each slice, given the lengths in the order of the places."""
    xp, slices = xp_of(lengths), -(-lengths.size // height)
    padded = xp.zeros(slices * height, np.int64)
    padded[: lengths.size] = lengths
    return padded.reshape(slices, height).max(axis=1) if slices else padded
