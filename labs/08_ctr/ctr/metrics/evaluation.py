"""Everything that is said of one predictor on one part of a log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..errors import CtrError
from ..guards import as_numbers
from ..schema import Schema
from ..storage.log import Part
from . import bayes, bins, cold, losses, ranking, uncertainty
from .bins import Bin
from .inputs import labels_of, probabilities_of
from .ranking import GroupedAuc
from .uncertainty import Difference

MEMBER, CAMPAIGN = "member", "campaign"
MOST_CAMPAIGNS = 50  # those with the most rows


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of the rows. `auc` is None where their labels are all the same, `calibration` without a click, `regret`
    where the truth is not known."""

    rows: int
    share: float
    logloss: float
    auc: float | None
    calibration: float | None
    regret: Difference | None


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How far a predictor is from the true probability.

    Expected over labels: `logloss` and `auc` of the true probability, `expected_auc` of the predictor. On these labels:
    `empirical_logloss` and `empirical_auc` of the true probability, the predictor's `regret`. `learned`: the share of
    the way from the best constant to the true probability that the predictor's logloss has gone, or None where these
    two are the same. `leak`: AUC less E[AUC] in standard errors.
    """

    logloss: float
    auc: float
    empirical_logloss: float
    empirical_auc: float
    regret: Difference
    auc_gap: float
    learned: float | None
    expected_auc: float
    leak: float

    @property
    def leaks(self) -> bool:
        return self.leak > bayes.LEAK


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Plain numbers; those whose names end in `_error` are standard errors. See `evaluate` for what may be missing."""

    rows: int
    click_rate: float
    logloss: float
    logloss_error: float
    normalized_entropy: float
    normalized_entropy_error: float
    auc: float
    auc_error: float
    pr_auc: float
    gauc: GroupedAuc | None
    calibration: float
    calibration_error: float
    ece: float
    deciles: tuple[Bin, ...]
    campaigns: tuple[Bin, ...]
    slices: dict[str, Slice]
    bayes: Ceiling | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON. Bins have their ratios, too."""
        made = asdict(self)
        for name in ("deciles", "campaigns"):
            made[name] = [asdict(one) | {"ratio": one.ratio} for one in getattr(self, name)]
        return made


def evaluate(
    labels: np.ndarray,
    p: np.ndarray,
    *,
    schema: Schema | None = None,
    ids: np.ndarray | None = None,
    p_true: np.ndarray | None = None,
    train: Part | None = None,
) -> Evaluation:
    """How good the probabilities p (rows,) are for these labels (rows,).

    With `schema` and `ids` (rows, fields): AUC by member and calibration by campaign, where the log has these fields.
    With `train`, too: warm and cold rows. With `p_true` (rows,): the distance to Bayes, and the leak test.

    Raises CtrError for labels that are all the same, and for what is no label or no probability.
    """
    y = labels_of(labels)
    predicted = probabilities_of(p, y.size)
    truth = None if p_true is None else probabilities_of(p_true, y.size, "true probability")
    ids = None if ids is None else as_numbers(ids, "ids")
    columns = _columns(schema, ids, y.size)
    member, campaign = columns.get(MEMBER), columns.get(CAMPAIGN)
    parts = cold.slices(ids, train) if ids is not None and train is not None else {}
    return Evaluation(
        rows=y.size,
        click_rate=float(y.mean()),
        logloss=losses.logloss(y, predicted),
        logloss_error=uncertainty.logloss_error(y, predicted),
        normalized_entropy=losses.normalized_entropy(y, predicted),
        normalized_entropy_error=uncertainty.normalized_entropy_error(y, predicted),
        auc=ranking.auc(y, predicted),
        auc_error=uncertainty.auc_error(y, predicted),
        pr_auc=ranking.pr_auc(y, predicted),
        gauc=None if member is None else ranking.gauc(member, y, predicted),
        calibration=bins.calibration(y, predicted),
        calibration_error=uncertainty.calibration_error(y, predicted),
        ece=bins.ece(y, predicted),
        deciles=bins.deciles(y, predicted),
        campaigns=() if campaign is None else bins.by_group(campaign, y, predicted)[:MOST_CAMPAIGNS],
        slices={name: _slice(which, y, predicted, truth) for name, which in parts.items() if which.any()},
        bayes=None if truth is None else _ceiling(y, predicted, truth),
    )


def _columns(schema: Schema | None, ids: np.ndarray | None, rows: int) -> dict[str, np.ndarray]:
    if schema is None or ids is None:
        return {}
    if ids.shape != (rows, len(schema.fields)):
        raise CtrError(f"ids of shape {ids.shape} where {rows:,} rows of {len(schema.fields)} fields belong")
    return {name: ids[:, column] for column, name in enumerate(schema.names)}


def _slice(which: np.ndarray, y: np.ndarray, p: np.ndarray, truth: np.ndarray | None) -> Slice:
    y, p = y[which], p[which]
    clicks = int(y.sum())
    return Slice(
        rows=y.size,
        share=y.size / which.size,
        logloss=losses.logloss(y, p),
        auc=ranking.auc(y, p) if 0 < clicks < y.size else None,
        calibration=bins.calibration(y, p) if clicks else None,
        regret=None if truth is None else bayes.regret(y, p, truth[which]),
    )


def _ceiling(y: np.ndarray, p: np.ndarray, truth: np.ndarray) -> Ceiling:
    regret = bayes.regret(y, p, truth)
    auc, expected = bayes.bayes_auc(truth), ranking.expected_auc(truth, p)
    least = losses.logloss(y, truth)
    head_room = float(losses.entropy(y.mean())) - least
    return Ceiling(
        logloss=bayes.bayes_logloss(truth),
        auc=auc,
        empirical_logloss=least,
        empirical_auc=ranking.auc(y, truth),
        regret=regret,
        auc_gap=auc - expected,
        learned=1 - regret.value / head_room if head_room > 0 else None,
        expected_auc=expected,
        leak=bayes.leak(y, p, truth),
    )
