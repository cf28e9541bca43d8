"""How good predictions could be, where the true probability of each click is known; and the leak test.

Nobody predicts better than p_true: its logloss and AUC are the ceiling. On one set of labels the true probability has
the same luck as every other predictor, so that regret, its logloss subtracted on the same rows, has little noise.

Scores that know nothing of a row's own label have about the AUC that p_true says they should have (E[AUC]). One that
has more has seen labels.

Source: E[AUC] is the expectation of Mann-Whitney U over labels; how far leaks lie above it is measured in
tests/test_ctr_gates.py.
"""

from __future__ import annotations

import numpy as np

from .inputs import probabilities_of
from .losses import entropy
from .ranking import auc, expected_auc, expected_auc_error
from .uncertainty import Difference, logloss_difference

LEAK = 3.0  # standard errors
NOTHING = 1e-9  # an error of AUC that is rounding: the scores order nothing, or no label is left to chance


def bayes_logloss(p_true: np.ndarray) -> float:
    """Expected of the true probability: the mean of H(p). On labels it is `logloss(labels, p_true)`."""
    return float(entropy(probabilities_of(p_true, np.size(p_true), "true probability")).mean())


def bayes_auc(p_true: np.ndarray) -> float:
    """Expected of the true probability: no order has more. On labels it is `auc(labels, p_true)`."""
    return expected_auc(p_true, p_true)


def regret(labels: np.ndarray, p: np.ndarray, p_true: np.ndarray) -> Difference:
    """Logloss above that of the true probability on the same labels, with the error of this difference."""
    return logloss_difference(labels, p, probabilities_of(p_true, np.size(p_true), "true probability"))


def leak(labels: np.ndarray, scores: np.ndarray, p_true: np.ndarray) -> float:
    """AUC less E[AUC], in standard errors of AUC over labels drawn from p_true; above `LEAK` the scores know labels.

    Honest scores are fixed before the labels are drawn. Those that use earlier labels of these rows (a historical click
    rate that goes on during the test) are a little below 0 on average: a click raises scores that it competes with.
    """
    error = expected_auc_error(p_true, scores)
    above = auc(labels, scores) - expected_auc(p_true, scores)
    return above / error if error > NOTHING else 0.0


def leak_sentence(what: str, auc: float, expected: float, z: float) -> str | None:
    """What to tell of scores that fail the leak test, with their AUC, E[AUC] and `leak`; None for those that pass."""
    if z <= LEAK:
        return None
    return (
        f"{what} has AUC {auc:.4f}, {z:.0f} standard errors above the {expected:.4f} that the true probabilities "
        "allow it: it has seen labels of the rows it predicts; compute historical features from earlier rows alone, "
        "and look for the label among the features"
    )
