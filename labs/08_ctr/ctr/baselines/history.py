"""Historical click rates: those that the log records as features, or those counted from its training rows.

A generated log has dense features whose names end in `_ctr`: clicks per impression of an id so far, which go on being
counted during validation and test. Other logs have none, and then every field is counted here: in training each row
sees the rows before it, and later rows see all of training. Either way no row sees its own label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..storage.log import Part

SUFFIX = "_ctr"
SMOOTHING = 20.0  # impressions at the click rate of all rows that every id is given to begin with
SURE = 1e-6  # rates are kept this far from 0 and 1


@dataclass(frozen=True)
class Histories:
    """Historical click rates of parts of one log: `of(part)`. `columns`: the recorded dense features; where there are
    none, `running` (rows, fields) float32 are the rates that the rows of `train` had at their time, and `final` those
    that each field's ids have after them."""

    names: tuple[str, ...]
    train: Part
    columns: tuple[int, ...] = ()
    running: np.ndarray | None = None
    final: tuple[np.ndarray, ...] = ()

    def of(self, part: Part) -> np.ndarray:
        """(rows, names) float64, between 0 and 1. `part` is `train`, or comes after it."""
        if self.running is None:
            rates = np.asarray(part.dense[:, self.columns], np.float64)
        elif part is self.train:
            rates = self.running.astype(np.float64)
        else:
            rates = np.stack([rate[part.ids[:, field]] for field, rate in enumerate(self.final)], axis=1)
        return np.clip(rates, SURE, 1 - SURE)


def histories(train: Part) -> Histories:
    columns = tuple(place for place, name in enumerate(train.schema.dense) if name.endswith(SUFFIX))
    if columns:
        return Histories(tuple(train.schema.dense[place] for place in columns), train, columns)
    labels = np.asarray(train.labels, np.float64)
    prior = float(labels.mean())
    running = np.empty(train.ids.shape, np.float32)
    final = []
    for place, field in enumerate(train.schema.fields):
        ids = np.asarray(train.ids[:, place])
        clicks, shown = np.bincount(ids, labels, field.rows), np.bincount(ids, minlength=field.rows)
        final.append((clicks + SMOOTHING * prior) / (shown + SMOOTHING))
        running[:, place] = _running(ids, labels, prior)
    return Histories(train.schema.names, train, (), running, tuple(final))


def _running(ids: np.ndarray, labels: np.ndarray, prior: float) -> np.ndarray:
    """(rows,) float64: for each row the smoothed rate of the rows of its id before it."""
    order = np.argsort(ids, kind="stable")
    first = np.flatnonzero(np.r_[True, np.diff(ids[order]) != 0])
    lengths = np.diff(np.r_[first, ids.size])
    before = np.cumsum(labels[order]) - labels[order]
    clicks = before - np.repeat(before[first], lengths)
    shown = np.arange(ids.size) - np.repeat(first, lengths)
    rates = np.empty(ids.size)
    rates[order] = (clicks + SMOOTHING * prior) / (shown + SMOOTHING)
    return rates
