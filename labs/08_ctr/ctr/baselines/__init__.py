"""What a model must beat, in this order: each baseline knows more than the one before it.

All have one interface, `fit(train, validation, seed) -> predict(part) -> probabilities`. The same seed gives the same
predictions on one machine with one number of threads. Those that need PyTorch import it when they are fitted.
"""

from __future__ import annotations

from ..storage.log import Part
from .interface import Fit, Predictor
from .logistic import logistic_on_history
from .rates import constant, historical


def logistic_on_everything(train: Part, validation: Part, seed: int) -> Predictor:
    """Logistic regression on one-hot ids, historical click rates and dense features."""
    from . import factorized

    return factorized.logistic_on_everything(train, validation, seed)


def factorization_machine(train: Part, validation: Part, seed: int) -> Predictor:
    """The same features, and products of all pairs of them through vectors of 8 numbers."""
    from . import factorized

    return factorized.factorization_machine(train, validation, seed)


CONSTANT, HISTORICAL, LR_HISTORY, LR, FM = "constant", "historical CTR", "LR, hist", "LR, ids + hist + dense", "FM, K=8"

BASELINES: dict[str, Fit] = {
    CONSTANT: constant,
    HISTORICAL: historical,
    LR_HISTORY: logistic_on_history,
    LR: logistic_on_everything,
    FM: factorization_machine,
}
