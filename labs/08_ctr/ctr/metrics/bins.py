"""Do predicted probabilities add up to clicks: in all, in bins of what was predicted, and in groups such as campaigns.

A calibration ratio is predicted clicks over clicks: 1.1 promises a tenth too many. AUC does not see it.

Source: ECE with bins of equal size, as Nguyen and O'Connor, Posterior calibration (EMNLP 2015), build their bins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import CtrError
from .inputs import groups_of, labels_of, probabilities_of

DECILES = 10
ECE_BINS = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows that belong together: how many, the mean of what was predicted, and the share of clicks. `group`: the id of
    a campaign, or the number of a bin, the lowest predictions first."""

    group: int
    rows: int
    predicted: float
    clicked: float

    @property
    def ratio(self) -> float | None:
        """Predicted clicks over clicks; None without a click."""
        return self.predicted / self.clicked if self.clicked else None

    @property
    def error(self) -> float:
        """The standard error of the share of clicks, were each row's probability the mean predicted one."""
        return float(np.sqrt(self.predicted * (1 - self.predicted) / self.rows))


def calibration(labels: np.ndarray, p: np.ndarray) -> float:
    """Predicted clicks over clicks. Raises CtrError where there is no click."""
    y = labels_of(labels)
    predicted = probabilities_of(p, y.size)
    if not y.any():
        raise CtrError(f"none of {y.size:,} rows was clicked: predicted clicks over clicks needs one; give more rows")
    return float(predicted.sum() / y.sum())


def deciles(labels: np.ndarray, p: np.ndarray, bins: int = DECILES) -> tuple[Bin, ...]:
    """Bins of as many rows each, by what was predicted. Rows with one prediction stay together, so that there are fewer
    bins where predictions repeat: one for a constant."""
    y = labels_of(labels)
    predicted = probabilities_of(p, y.size)
    if bins < 1:
        raise CtrError(f"{bins} bins hold no rows: give 1 or more")
    order = np.argsort(predicted, kind="stable")
    ordered = predicted[order]
    # A row belongs to the bin of the middle of the rows that share its prediction.
    first, last = np.searchsorted(ordered, ordered, "left"), np.searchsorted(ordered, ordered, "right")
    of_row = np.empty(y.size, np.int64)
    of_row[order] = (first + last) * bins // (2 * y.size)
    found = by_group(of_row, y, predicted)
    return tuple(sorted(found, key=lambda one: one.group))


def by_group(groups: np.ndarray, labels: np.ndarray, p: np.ndarray) -> tuple[Bin, ...]:
    """One bin for each group (campaign), that with the most rows first."""
    y = labels_of(labels)
    predicted = probabilities_of(p, y.size)
    names, group = groups_of(groups, y.size)
    size = np.bincount(group)
    sums = np.bincount(group, predicted), np.bincount(group, y)
    order = np.argsort(-size, kind="stable")
    return tuple(
        Bin(int(names[k]), int(size[k]), float(sums[0][k] / size[k]), float(sums[1][k] / size[k])) for k in order
    )


def ece(labels: np.ndarray, p: np.ndarray, bins: int = ECE_BINS) -> float:
    """Expected calibration error: |predicted - clicked| of each bin, averaged by rows."""
    found = deciles(labels, p, bins)
    return sum(one.rows * abs(one.predicted - one.clicked) for one in found) / sum(one.rows for one in found)
