"""Standard errors: how far a metric would move on another sample of as many rows.

Two predictors on the same rows share most of their noise: the error of their difference is computed from the
difference in each row, and is several times smaller than that of either.

Source: AUC and differences of AUCs after DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988), in O(n log n) by
mid-ranks as Sun and Xu (IEEE Signal Processing Letters 21, 2014) compute it; ratios by the delta method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .inputs import both_classes, labels_of, probabilities_of, scores_of
from .losses import entropy, losses
from .ranking import won_by


@dataclass(frozen=True, slots=True)
class Difference:
    """Of two predictors on the same rows: `value` is the first's metric less the second's."""

    value: float
    error: float


def of_mean(values: np.ndarray) -> float:
    """The standard error of a mean; 0 for one row, of which nothing is known."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


def logloss_error(labels: np.ndarray, p: np.ndarray) -> float:
    return of_mean(losses(labels, p))


def normalized_entropy_error(labels: np.ndarray, p: np.ndarray) -> float:
    """The click rate below the line varies with the rows, too."""
    y = labels_of(labels)
    both_classes(y, "normalized entropy")
    rate, loss = y.mean(), losses(y, p)
    below = float(entropy(rate))
    slope = np.log((1 - rate) / rate)  # of the entropy in the rate
    return of_mean(loss / below - loss.mean() * slope * y / below**2)


def calibration_error(labels: np.ndarray, p: np.ndarray) -> float:
    y = labels_of(labels)
    predicted = probabilities_of(p, y.size)
    both_classes(y, "the error of a calibration ratio")
    return of_mean((predicted - predicted.sum() / y.sum() * y) / y.mean())


def auc_error(labels: np.ndarray, scores: np.ndarray) -> float:
    """DeLong's."""
    y = labels_of(labels)
    return _delong(*_placements(y, scores))


def logloss_difference(labels: np.ndarray, p: np.ndarray, other: np.ndarray) -> Difference:
    between = losses(labels, p) - losses(labels, other)
    return Difference(float(between.mean()), of_mean(between))


def auc_difference(labels: np.ndarray, scores: np.ndarray, other: np.ndarray) -> Difference:
    """DeLong's, of two sets of scores of the same rows."""
    y = labels_of(labels)
    clicks, others = (a - b for a, b in zip(_placements(y, scores), _placements(y, other), strict=True))
    return Difference(float(clicks.mean()), _delong(clicks, others))


def _placements(y: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each click the share of non-clicks that it wins against, and for each non-click the share of clicks that win
    against it."""
    both_classes(y, "AUC")
    s = scores_of(scores, y.size)
    below, tied = won_by(s, 1 - y)
    clicks = (below + tied / 2)[y == 1] / (1 - y).sum()
    below, tied = won_by(s, y)
    return clicks, 1 - (below + tied / 2)[y == 0] / y.sum()


def _delong(clicks: np.ndarray, others: np.ndarray) -> float:
    return float(np.hypot(of_mean(clicks), of_mean(others)))
