"""The baselines that train nothing: one probability for all rows, and a historical click rate as it is."""

from __future__ import annotations

import numpy as np

from ..metrics import logloss
from ..storage.log import Part
from .history import histories
from .interface import Predictor


def constant(train: Part, validation: Part, seed: int) -> Predictor:
    """The click rate of training."""
    rate = float(np.mean(train.labels))
    return lambda part: np.full(part.rows, rate)


def historical(train: Part, validation: Part, seed: int) -> Predictor:
    """The smoothed historical click rate that has the least logloss on validation."""
    past = histories(train)
    tried = [logloss(validation.labels, rates) for rates in past.of(validation).T]
    best = int(np.argmin(tried))
    return lambda part: past.of(part)[:, best]
