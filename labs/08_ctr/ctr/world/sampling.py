"""Training on fewer negatives: what it does to a probability, and how to undo it.

Of the rows without a click a share w is kept. The odds of a click among the rows kept are 1 / w times the true odds, so
a model trained on them is too sure of clicks; its order of the rows, and its AUC, are as good as they were.

Source: the formula is that of `ne_with_recalibration` in TorchRec (torchrec/metrics).
"""

from __future__ import annotations

import numpy as np

from ..errors import CtrError


def recalibrate(p: np.ndarray, negative_rate: float) -> np.ndarray:
    """Float64 probabilities of all impressions, from `p` of a model trained where `negative_rate` of the negatives was
    kept: p / (p + (1 - p) / w). Raises CtrError for a rate outside (0, 1]."""
    _check(negative_rate)
    p = np.asarray(p, np.float64)
    return p / (p + (1 - p) / negative_rate)


def downsampled(p: np.ndarray, negative_rate: float) -> np.ndarray:
    """The inverse: the probability of a click among the rows kept, where it is `p` among all."""
    _check(negative_rate)
    p = np.asarray(p, np.float64)
    return p / (p + (1 - p) * negative_rate)


def _check(negative_rate: float) -> None:
    if not 0 < negative_rate <= 1:
        raise CtrError(f"a negative rate of {negative_rate} is no share from above 0 to 1: give the one of the log")
