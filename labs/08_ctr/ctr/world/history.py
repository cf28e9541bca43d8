"""How often an ad, a campaign and a member was clicked before: the features that are easiest to get wrong.

A row may see the clicks that were known when its impression was made, and no other. Counts are brought up to date at
the beginning of each bucket of time, with the impressions of earlier buckets whose labels were known by then: those
that ended `label_delay` before. Rows of one bucket never see each other.

`Options.leaky` is the mistake that inflates offline quality: counts over the whole log, the row's own click among them.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable

import numpy as np

from .options import Options
from .world import AD, CAMPAIGN, MEMBER, Impressions

COUNTED = (AD, CAMPAIGN, MEMBER)  # in the order of the first dense columns
PRIOR = 0.1  # of the CTR, before the first click is known
_CLICK = np.int64(1) << 32  # a count holds its clicks above its impressions, so that both are one access
_IMPRESSIONS = _CLICK - 1


class History:
    """Counts of clicks and impressions of each id: memory grows with the ids, and with the rows of one label delay."""

    def __init__(self, options: Options, sizes: tuple[int, int, int]):
        """`sizes`: rows of the fields ad, campaign and member."""
        self._bucket, self._smoothing = options.bucket, options.smoothing
        self._lag = 1 + -(-options.label_delay // options.bucket)  # buckets between a click and those that know it
        self._counts = tuple(np.zeros(size, np.int64) for size in sizes)
        self._all = np.int64(0)
        self._waiting: deque[tuple[int, tuple[np.ndarray, ...], np.ndarray]] = deque()

    def pass_by(self, drawn: Impressions) -> None:
        """Fills in the history of the next shard in time, and keeps its clicks for those that come later."""
        for bucket, rows in _runs(drawn.times // self._bucket):
            while self._waiting and self._waiting[0][0] <= bucket - self._lag:
                _, ids, added = self._waiting.popleft()
                self._add(ids, added)
            self.fill(drawn, rows)
            self._waiting.append((bucket, *_events(drawn, rows)))

    def count(self, drawn: Impressions) -> None:
        """Adds a whole shard at once: for statistics over all of the log."""
        self._add(*_events(drawn, slice(None)))

    def fill(self, drawn: Impressions, rows: slice) -> None:
        """Writes the six columns of history of `rows`, as they are known now."""
        prior = _rate(self._all, self._smoothing, PRIOR)
        for place, (field, counts) in enumerate(zip(COUNTED, self._counts, strict=True)):
            known = counts.take(drawn.ids[rows, field])
            drawn.dense[rows, place] = _rate(known, self._smoothing, float(prior))
            drawn.dense[rows, place + len(COUNTED)] = np.log((known & _IMPRESSIONS).astype(np.float32) + np.float32(1))

    def _add(self, ids: tuple[np.ndarray, ...], added: np.ndarray) -> None:
        for counts, which in zip(self._counts, ids, strict=True):
            np.add.at(counts, which, added)
        self._all += added.sum()


def _rate(counts: np.ndarray | np.int64, smoothing: float, prior: float) -> np.ndarray:
    """Clicks per impression, as if `smoothing` impressions of the `prior` rate had come before."""
    clicks = np.asarray(counts >> 32, np.float32)
    impressions = np.asarray(counts & _IMPRESSIONS, np.float32)
    return (clicks + np.float32(smoothing * prior)) / (impressions + np.float32(smoothing))


def _events(drawn: Impressions, rows: slice) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    ids = tuple(drawn.ids[rows, field].copy() for field in COUNTED)
    return ids, 1 + drawn.labels[rows].astype(np.int64) * _CLICK


def _runs(numbers: np.ndarray) -> Iterable[tuple[int, slice]]:
    """Each number of a sorted array, with its stretch."""
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    for start, stop in itertools.pairwise(edges):
        yield int(numbers[start]), slice(start, stop)
