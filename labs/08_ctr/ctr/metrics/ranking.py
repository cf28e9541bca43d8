"""How well scores order clicks before the rest: AUC, E[AUC] under a known probability, PR-AUC, and AUC by member.

AUC is the share of pairs of a click and a non-click in which the click has the higher score; a tie counts half. All of
it is computed from one sort over all rows: the mean of AUCs of batches is another number.

Source: Mann-Whitney U; average precision as scikit-learn defines it; impression-weighted GAUC of Zhu et al., Optimized
Cost per Click in Taobao Display Advertising (KDD 2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import CtrError
from .inputs import both_classes, groups_of, labels_of, probabilities_of, scores_of


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Exact; ties count half. Raises CtrError where all labels are the same."""
    y = labels_of(labels)
    s = scores_of(scores, y.size)
    both_classes(y, "AUC")
    below, tied = won_by(s, 1 - y)
    return float(y @ (below + tied / 2) / (y.sum() * (1 - y).sum()))


def expected_auc(p_true: np.ndarray, scores: np.ndarray) -> float:
    """What AUC these scores have on average over labels drawn with probability p_true: (clicks won) / (pairs), both
    expected, with no row paired with itself.

    Raises CtrError where no pair of a click and a non-click can occur.
    """
    p = probabilities_of(p_true, np.size(p_true), "true probability")
    s = scores_of(scores, p.size)
    won, pairs = _expected_pairs(p, *won_by(s, 1 - p))
    return won / pairs


def expected_auc_error(p_true: np.ndarray, scores: np.ndarray) -> float:
    """The standard deviation of AUC over labels drawn with probability p_true, for these rows and these scores: first
    order in the labels, where a label that turns into a click wins its pairs as one and no longer loses as the other.
    """
    p = probabilities_of(p_true, np.size(p_true), "true probability")
    s = scores_of(scores, p.size)
    below, tied = won_by(s, 1 - p)
    won, pairs = _expected_pairs(p, below, tied)
    lost_below, lost_tied = won_by(s, p)
    as_click = below + tied / 2 - (1 - p) / 2
    as_other = p.sum() - lost_below - lost_tied / 2 - p / 2
    slope = (as_click - as_other - won / pairs * ((1 - p).sum() - p.sum() - 1 + 2 * p)) / pairs
    return float(np.sqrt(p * (1 - p) @ slope**2))


def _expected_pairs(p: np.ndarray, below: np.ndarray, tied: np.ndarray) -> tuple[float, float]:
    """Of expected pairs of a click and a non-click: how many the click wins, and how many there are."""
    self_pairs = float(p @ (1 - p))
    won = float(p @ (below + tied / 2)) - self_pairs / 2
    pairs = float(p.sum() * (1 - p).sum()) - self_pairs
    if pairs <= 0:
        raise CtrError(f"{p.size:,} true probabilities allow no pair of a click and a non-click: evaluate more rows")
    return won, pairs


def won_by(scores: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row the weight of all rows with a lower score, and of those with the same score, its own included."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    block = np.add.reduceat(weights[order], starts)
    lengths = np.diff(np.r_[starts, scores.size])
    below, tied = np.empty(scores.size), np.empty(scores.size)
    below[order] = np.repeat(np.cumsum(block) - block, lengths)
    tied[order] = np.repeat(block, lengths)
    return below, tied


def pr_auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Average precision: the mean over clicks of the precision among all rows with at least the click's score. That of
    random scores is the click rate. Raises CtrError where all labels are the same."""
    y = labels_of(labels)
    s = scores_of(scores, y.size)
    both_classes(y, "PR-AUC")
    clicks_below, _ = won_by(s, y)
    rows_below, _ = won_by(s, np.ones(y.size))
    precision = (y.sum() - clicks_below) / (y.size - rows_below)
    return float(y @ precision / y.sum())


@dataclass(frozen=True, slots=True)
class GroupedAuc:
    """AUC within each group (member), averaged by impressions.

    Groups whose labels are all the same have no AUC and are skipped: `skipped` of `groups`, with `skipped_share` of all
    impressions. One whose scores are all the same counts with .5. `value` is None where all are skipped.
    """

    value: float | None
    groups: int
    skipped: int
    skipped_share: float


def gauc(groups: np.ndarray, labels: np.ndarray, scores: np.ndarray) -> GroupedAuc:
    """AUC by group, weighted by impressions; scores of different groups are not compared."""
    y = labels_of(labels)
    s = scores_of(scores, y.size)
    names, group = groups_of(groups, y.size)
    # A rank in the order of (group, score) serves as the score: the rows below that are of the same group remain.
    order = np.lexsort((s, group))
    new = np.r_[True, (group[order][1:] != group[order][:-1]) | (s[order][1:] != s[order][:-1])]
    rank = np.empty(y.size)
    rank[order] = np.cumsum(new)
    below, tied = won_by(rank, 1 - y)
    others = np.bincount(group, 1 - y)
    clicks, size = np.bincount(group, y), np.bincount(group)
    within = below - (np.cumsum(others) - others)[group]
    won = np.bincount(group, y * (within + tied / 2))
    kept = (clicks > 0) & (others > 0)
    weight = float(size[kept].sum())
    value = float(size[kept] @ (won[kept] / (clicks[kept] * others[kept])) / weight) if weight else None
    return GroupedAuc(value, names.size, int(names.size - kept.sum()), 1 - weight / y.size)
