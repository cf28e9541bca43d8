"""What can be said of a matrix before it is multiplied: its row lengths, and what padding them would cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..formats import Csr
from ..formats.arrays import Array
from ..formats.ell import ell_slots, slots_of


@dataclass(frozen=True)
class Statistics:
    """Lengths are entries per row. cv is std / mean, the coefficient of variation; skew is (longest - mean) / mean.

    bandwidth: the largest distance of an entry from the diagonal. span: the mean over rows with entries of (last column
    - first column + 1) / columns. neighbours: the mean over entries of how many of the two columns beside it are in
    its row too (0 to 2), where columns are sorted. ell_fill: slots of ELL per entry. sliced_fill: slots of sliced ELL
    per entry, by (height, sigma). Fills are nan without entries.
    """

    rows: int
    columns: int
    nnz: int
    mean: float
    std: float
    shortest: int
    median: float
    longest: int
    empty: int
    bandwidth: int
    span: float
    neighbours: float
    ell_fill: float
    sliced_fill: dict[tuple[int, int], float]

    @property
    def cv(self) -> float:
        return self.std / self.mean if self.mean else 0.0

    @property
    def skew(self) -> float:
        return (self.longest - self.mean) / self.mean if self.mean else 0.0

    @property
    def empty_share(self) -> float:
        return self.empty / self.rows if self.rows else 0.0


def statistics(csr: Csr, heights: tuple[int, ...] = (32,), sigmas: tuple[int, ...] | None = None) -> Statistics:
    """Of a matrix, which is brought to the host. `sigmas`: 1, 256 and all rows unless given."""
    csr = csr.on(np)
    lengths, rows = csr.lengths, csr.rows
    every = max(1, rows)
    windows = sorted({1, 256, every}) if sigmas is None else sigmas
    bandwidth, span, neighbours = _columns(csr)
    return Statistics(
        rows,
        csr.columns,
        csr.nnz,
        csr.nnz / every,
        float(lengths.astype(np.float64).std()) if rows else 0.0,
        int(lengths.min()) if rows else 0,
        float(np.median(lengths)) if rows else 0.0,
        int(lengths.max()) if rows else 0,
        int((lengths == 0).sum()),
        bandwidth,
        span,
        neighbours,
        ell_fill(lengths),
        {(height, sigma): sliced_fill(lengths, height, sigma) for height in heights for sigma in windows},
    )


def ell_fill(lengths: Array) -> float:
    """Slots of ELL per entry, from the row lengths alone; nan without entries."""
    entries = int(lengths.sum(dtype=np.int64))
    return ell_slots(lengths) / entries if entries else float("nan")


def sliced_fill(lengths: Array, height: int = 32, sigma: int = 1) -> float:
    """Slots of sliced ELL per entry, from the row lengths alone, the places past the last row counted as slots; nan
    without entries."""
    entries = int(lengths.sum(dtype=np.int64))
    return slots_of(lengths, height, sigma) / entries if entries else float("nan")


def _columns(csr: Csr) -> tuple[int, float, float]:
    """(bandwidth, span, neighbours)."""
    if not csr.nnz:
        return 0, 0.0, 0.0
    full = np.flatnonzero(csr.lengths)
    first = csr.indptr[:-1][full]
    low, high = np.minimum.reduceat(csr.indices, first), np.maximum.reduceat(csr.indices, first)
    span = float((high - low + 1.0).mean()) / csr.columns
    distance = np.maximum(np.abs(low - full), np.abs(high - full))
    beside = np.zeros(csr.nnz, bool)  # an entry right after the column before it
    np.equal(csr.indices[1:], csr.indices[:-1] + 1, out=beside[1:])
    beside[first] = False
    return int(distance.max()), span, 2 * int(np.count_nonzero(beside)) / csr.nnz
