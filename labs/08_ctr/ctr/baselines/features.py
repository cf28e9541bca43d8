"""Parts of a log as the linear models take them: rows of one table, and standardised numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from ..cold import Seen
from ..storage.log import Part
from .history import SUFFIX, Histories, histories


@dataclass(frozen=True)
class Rows:
    """ids (rows, fields) int32: rows of the concatenated table. numbers (rows, m) float32. labels (rows,) float32."""

    ids: np.ndarray
    numbers: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class Features:
    """What the training part says of ids and numbers. Ids that it does not have become the unknown one.

    The numbers are the dense features and the log-odds of the historical click rates, each with mean 0 and variance 1
    in training.
    """

    past: Histories
    seen: Seen
    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, train: Part) -> Features:
        past = histories(train)
        numbers = _numbers(past, train)
        deviation = numbers.std(0)
        return cls(past, Seen.of(train), numbers.mean(0), 1 / np.where(deviation > 0, deviation, 1))

    def rows(self, part: Part) -> Rows:
        ids = self.seen.to_unknown(part.ids) + part.schema.offsets.astype(np.int32)
        numbers = (_numbers(self.past, part) - self.mean) * self.scale
        return Rows(ids, numbers.astype(np.float32), np.asarray(part.labels, np.float32))


def _numbers(past: Histories, part: Part) -> np.ndarray:
    """(rows, m) float64."""
    others = [place for place, name in enumerate(part.schema.dense) if not name.endswith(SUFFIX)]
    return np.concatenate((np.asarray(part.dense[:, others], np.float64), logit(past.of(part))), axis=1)
