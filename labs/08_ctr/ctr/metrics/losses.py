"""Logloss, and what it is divided by to compare logs of different base rates.

Logloss is in nats a row. Normalized entropy is logloss over the entropy of the rows' own click rate: 1 is what the best
constant reaches, and less is better.

Source: normalized entropy is of He et al., Practical Lessons from Predicting Clicks on Ads at Facebook (ADKDD 2014);
with the rate of the evaluated rows themselves it is what TorchRec's metrics/ne.py computes.
"""

from __future__ import annotations

import numpy as np

from .inputs import both_classes, labels_of, probabilities_of, scores_of

# Probabilities are kept this far from 0 and 1, as scikit-learn's log_loss keeps those of float64.
CLAMP = float(np.finfo(np.float64).eps)


def losses(labels: np.ndarray, p: np.ndarray) -> np.ndarray:
    """(rows,) -log of what was predicted for what happened; p is clamped first."""
    y = labels_of(labels)
    clamped = np.clip(probabilities_of(p, y.size), CLAMP, 1 - CLAMP)
    return -np.log(np.where(y == 1, clamped, 1 - clamped))


def logloss(labels: np.ndarray, p: np.ndarray) -> float:
    """The mean loss of a row, from probabilities."""
    return float(losses(labels, p).mean())


def logloss_of_logits(labels: np.ndarray, logits: np.ndarray) -> float:
    """The mean loss of a row, from logits: exact where a probability would be rounded to 0 or 1."""
    y = labels_of(labels)
    z = scores_of(logits, y.size, "logit")
    return float(np.mean(np.logaddexp(0, z) - y * z))


def entropy(p: np.ndarray | float) -> np.ndarray:
    """H(p) in nats: the loss of the true probability, expected over its labels. 0 where p is 0 or 1."""
    clamped = np.clip(np.asarray(p, np.float64), CLAMP, 1 - CLAMP)
    inside = (np.asarray(p) > 0) & (np.asarray(p) < 1)
    return np.where(inside, -clamped * np.log(clamped) - (1 - clamped) * np.log1p(-clamped), 0.0)


def normalized_entropy(labels: np.ndarray, p: np.ndarray) -> float:
    """Logloss over the entropy of the labels' own mean. Raises CtrError where all labels are the same."""
    y = labels_of(labels)
    both_classes(y, "normalized entropy")
    return logloss(y, p) / float(entropy(y.mean()))
