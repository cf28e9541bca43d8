"""Twins of matrices of the SuiteSparse collection, made from what is published about them.

A twin has the rows, the columns, the entries and the longest row of the original exactly, and the standard deviation of
its row lengths within a few per cent (STD_WITHIN). It is not the original:

* The lengths follow a smooth distribution with those numbers, in random order. Neighbouring rows of the original are
  often alike, so that slices of unsorted rows are padded less there than here.
* The columns are made up: spread evenly around the diagonal, so that the mean row is as wide as the original's (all
  columns where that is not enough), in runs that give the published number of neighbours. Which rows share columns is
  not modelled, so x is found in a cache less often than with the original, most of all for meshes.
* The pattern is not symmetric, and the values are not the original's.

Source: rows, columns, mean, standard deviation, skew, span and neighbours as published in the configuration of
cslab-ntua/SpMV-Research (benchmark_code/CPU/AMD/config.sh, commit 00bf01db) for matrices of the SuiteSparse collection;
the longest row is mean (1 + skew), the entries are rows x mean. roadNet-CA is not in it: its longest row and, from its
wedge count, its standard deviation are those of KONECT (konect.cc), its span and neighbours are roadNet-TX's. Empty
rows are known of three: of the road networks, the vertices without a road, as KONECT counts those with one; of
cop20k_A, what the structural rank of the SuiteSparse collection (99,843 of 121,192) leaves. The others may have some;
their twins have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from scipy.special import betaincinv, ndtri

from gpukit.registry import nearest

from ..errors import MatrixError
from ..formats import Csr
from .generators import Filling, from_lengths

BETA, LOGNORMAL, GIANTS = "beta", "lognormal", "giants"
STD_WITHIN = 0.03  # relative, at full size
GIANTS_END = 20  # giants are rows of at least so many mean lengths
BULK_CV = 0.75  # of the rows that are no giants: not published, a guess
LONGEST_SHARE = 0.05  # of the variance that the longest row may carry in a smaller twin


@dataclass(frozen=True)
class Twin:
    """What is published of a matrix, and the family its row lengths are drawn from.

    family: BETA for lengths between two bounds that are near, with most rows near the upper one; LOGNORMAL for a tail;
    GIANTS for a few rows that carry the variance, which fall geometrically from the longest, above a lognormal bulk.
    """

    name: str
    rows: int
    columns: int
    nnz: int
    std: float
    longest: int
    family: str
    span: float  # last column - first column + 1 of the mean row, as a share of the columns
    neighbours: float  # per entry, 0 to 2
    empty: int = 0

    @property
    def mean(self) -> float:
        return self.nnz / self.rows

    @property
    def run(self) -> float:
        """Columns in a row of neighbours: in a run of r, r - 2 entries have two neighbours and two have one."""
        return 1 / (1 - self.neighbours / 2)

    def at(self, rows: int) -> Twin:
        """A smaller twin: mean, standard deviation and share of empty rows stay. The longest row shrinks where it would
        carry more than LONGEST_SHARE of the variance; where it must shrink further, since there are fewer columns, the
        standard deviation shrinks with it. Raises MatrixError for so few rows that they do not fit the columns."""
        share = rows / self.rows
        columns = max(1, round(self.columns * share))
        nnz, empty = round(self.nnz * share), round(self.empty * share)
        above = self.longest - self.mean
        carried = max(above**2 / (self.rows * self.std**2), LONGEST_SHARE)
        # A tail of shorter rows would need more than half of the entries to make the variance.
        least = 0.0 if self.family == GIANTS else 2 * self.std**2 / self.mean
        wanted = min(above, max(least, float(np.sqrt(carried * rows)) * self.std))
        longest = min(round(self.mean + wanted), columns)
        std = self.std * min(1.0, max(0.0, longest - self.mean) / wanted) if wanted else self.std
        longest = max(longest, -(-nnz // max(1, rows - empty)))
        if longest > columns:
            raise MatrixError(
                f"{rows:,} rows are too few for a twin of {self.name}: its rows would not fit the columns"
            )
        return Twin(self.name, rows, columns, nnz, std, longest, self.family, self.span, self.neighbours, empty)


# fmt: off
TWINS = {twin.name: twin for twin in (
    #    name                rows       columns    nnz         std        longest    family     span, neighbours, empty
    Twin("webbase-1M",       1_000_005, 1_000_005, 3_105_536,  25.3452,   4_700,     LOGNORMAL, 0.15246, 0.316),
    Twin("circuit5M",        5_558_326, 5_558_326, 59_524_291, 1356.6163, 1_290_501, GIANTS,    0.50252, 1.065),
    Twin("ASIC_680k",        682_862,   682_862,   3_871_773,  659.8074,  395_259,   GIANTS,    0.37466, 0.669),
    Twin("pwtk",             217_918,   217_918,   11_634_424, 4.7439,    180,       LOGNORMAL, 0.05932, 1.878),
    Twin("cant",             62_451,    62_451,    4_007_383,  14.0563,   78,        BETA,      0.00860, 1.616),
    Twin("scircuit",         170_998,   170_998,   958_936,    4.3922,    353,       LOGNORMAL, 0.29725, 0.803),
    Twin("rail4284",         4_284,     1_096_894, 11_284_032, 4209.2593, 56_182,    LOGNORMAL, 0.95554, 1.576),
    Twin("mac_econ_fwd500",  206_500,   206_500,   1_273_389,  4.4359,    44,        LOGNORMAL, 0.00191, 0.177),
    Twin("cop20k_A",         121_192,   121_192,   2_624_331,  13.7927,   81,        BETA,      0.62306, 1.096, 21_349),
    Twin("soc-LiveJournal1", 4_847_571, 4_847_571, 68_993_773, 36.0803,   20_293,    LOGNORMAL, 0.34698, 0.284),
    Twin("roadNet-TX",       1_393_383, 1_393_383, 3_843_320,  1.0370,    12,        LOGNORMAL, 0.00494, 0.162, 13_466),
    Twin("roadNet-CA",       1_971_281, 1_971_281, 5_533_214,  1.0053,    12,        LOGNORMAL, 0.00494, 0.162, 6_075),
    Twin("kron_g500-logn18", 262_144,   262_144,   21_165_908, 453.7323,  49_163,    LOGNORMAL, 0.55185, 0.020),
    Twin("mc2depi",          525_825,   525_825,   2_100_225,  0.0763,    4,         LOGNORMAL, 0.00134, 0.498),
    Twin("consph",           83_334,    83_334,    6_010_480,  19.0802,   81,        BETA,      0.06981, 1.713),
    Twin("pdb1HYS",          36_417,    36_417,    4_344_765,  31.8604,   204,       BETA,      0.12994, 1.838),
    Twin("rma10",            46_835,    46_835,    2_374_001,  27.7806,   145,       BETA,      0.18777, 1.720),
    Twin("shipsec1",         140_874,   140_874,   7_813_404,  11.0748,   102,       BETA,      0.04588, 1.712),
    Twin("mip1",             66_463,    66_463,    10_352_819, 350.7443,  66_395,    GIANTS,    0.59028, 1.925),
    Twin("Chebyshev4",       68_121,    68_121,    5_377_761,  1061.4400, 68_121,    GIANTS,    0.04536, 0.896),
    Twin("ldoor",            952_203,   952_203,   46_522_475, 11.9466,   77,        BETA,      0.20421, 1.797),
    Twin("bone010",          986_703,   986_703,   71_666_325, 15.8104,   81,        BETA,      0.01817, 1.770),
    Twin("audikw_1",         943_695,   943_695,   77_651_847, 42.4453,   345,       LOGNORMAL, 0.62315, 1.581),
    Twin("cage15",           5_154_859, 5_154_859, 99_199_551, 5.7367,    47,        LOGNORMAL, 0.21196, 0.198),
)}
# fmt: on


def twin(name: str, rows: int | None = None, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """A twin of a matrix of TWINS, at full size or with about as many rows as given."""
    if name not in TWINS:
        raise MatrixError(f"there is no twin of {name!r}{nearest(name, TWINS)}")
    model = TWINS[name] if rows is None or rows == TWINS[name].rows else TWINS[name].at(rows)
    lengths = row_lengths(model, seed)
    runs = np.maximum(1, np.rint(lengths / model.run))
    reached = float((1 - 1 / runs).mean())  # of the window, by the mean row: r runs span about 1 - 1 / r of it
    window = model.columns * min(1.0, model.span / reached if reached else 1.0)
    return from_lengths(lengths, model.columns, window=max(1, round(window)), run=model.run, seed=seed, **filling)


def row_lengths(model: Twin, seed: int = 0) -> np.ndarray:
    """(rows,) int64: the row lengths of a twin, in random order."""
    rng = np.random.default_rng([seed, 2])
    giants = _giants(model) if model.family == GIANTS else np.array([model.longest])
    bulk = model.rows - model.empty - giants.size
    least = 0 if bulk > model.nnz - giants.sum() else 1
    total = model.nnz - int(giants.sum())
    squares = model.rows * (model.std**2 + model.mean**2) - float((giants.astype(float) ** 2).sum())
    std = float(np.sqrt(max(0.0, squares / max(1, bulk) - (total / max(1, bulk)) ** 2)))
    draw = _beta if model.family == BETA else _lognormal
    rest = draw(bulk, total, std, least, model.longest)
    lengths = np.concatenate(
        [giants, _with_sum(rest, total, least, model.longest, rng), np.zeros(model.empty, np.int64)]
    )
    return rng.permutation(lengths)


def _giants(model: Twin) -> np.ndarray:
    """Lengths that fall geometrically from the longest row, by the factor that makes the standard deviation."""
    end = GIANTS_END * model.mean
    most = int(model.nnz - model.rows + model.empty)

    def at(factor: float) -> np.ndarray:
        count = max(1, int(np.log(max(1.0, model.longest / end)) / -np.log(factor)))
        return np.rint(model.longest * factor ** np.arange(count)).astype(np.int64)

    def too_much(giants: np.ndarray) -> bool:
        rest = model.rows - giants.size
        mean = max(0.0, (model.nnz - giants.sum()) / rest)
        squares = float((giants.astype(float) ** 2).sum()) + rest * mean**2 * (1 + BULK_CV**2)
        return squares > model.rows * (model.std**2 + model.mean**2) or giants.sum() > most

    low, high = 1e-6, 1 - 1e-6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if too_much(at(middle)) else (middle, high)
    return at(low)


def _lognormal(count: int, total: int, std: float, least: int, most: int) -> np.ndarray:
    """Rounded and clipped to [least, most]; its two parameters are found on a part of the quantiles, weighted."""
    quantile = (np.arange(count) + 0.5) / max(1, count)
    top = min(count, 2000)  # the longest, one by one
    edges = np.unique(np.linspace(0, count - top, min(count - top, 20_000) + 1).astype(np.int64))
    picked = np.concatenate([(edges[1:] + edges[:-1]) // 2, np.arange(count - top, count)])
    weight = np.concatenate([np.diff(edges), np.ones(top)])
    normal = ndtri(quantile[picked])

    def scaled(sigma: float) -> float:
        """The logarithm of the factor that gives the sum."""
        low, high = -60.0, 60.0
        for _ in range(50):
            middle = (low + high) / 2
            reached = (weight * np.clip(np.rint(np.exp(np.minimum(middle + sigma * normal, 40))), least, most)).sum()
            low, high = (low, middle) if reached > total else (middle, high)
        return low

    low, high = 0.0, 8.0
    for _ in range(30):
        sigma = (low + high) / 2
        lengths = np.clip(np.rint(np.exp(np.minimum(scaled(sigma) + sigma * normal, 40))), least, most)
        mean = (weight * lengths).sum() / max(1, count)  # not by BLAS, whose threads wait for each other longer
        wide = np.sqrt((weight * (lengths - mean) ** 2).sum() / max(1, count)) > std
        low, high = (low, sigma) if wide else (sigma, high)
    return np.clip(np.rint(np.exp(np.minimum(scaled(low) + low * ndtri(quantile), 40))), least, most).astype(np.int64)


def _beta(count: int, total: int, std: float, least: int, most: int) -> np.ndarray:
    low, high = least - 0.5, most + 0.5
    mean = (total / count - low) / (high - low)
    spread = max(std**2 - 1 / 12, 1e-3) / (high - low) ** 2
    weight = max(mean * (1 - mean) / spread - 1, 1e-3)
    quantile = (np.arange(count) + 0.5) / count
    grid = np.linspace(0, 1, 20_001)
    curve = betaincinv(mean * weight, (1 - mean) * weight, grid)
    return np.clip(np.rint(low + (high - low) * np.interp(quantile, grid, curve)), least, most).astype(np.int64)


def _with_sum(lengths: np.ndarray, total: int, least: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """The lengths with 1 added to or taken from rows at random until their sum is `total`."""
    missing = total - int(lengths.sum())
    while missing:
        step = 1 if missing > 0 else -1
        free = np.flatnonzero(lengths < most if step > 0 else lengths > least)
        chosen = rng.permutation(free)[: abs(missing)]
        lengths[chosen] += step
        missing -= step * chosen.size
        if not chosen.size:
            raise MatrixError(f"{lengths.size:,} rows of {least} to {most:,} entries cannot hold {total:,} in all")
    return lengths
