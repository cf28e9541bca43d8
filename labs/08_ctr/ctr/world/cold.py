"""Cold ids: those of validation and test that training never saw.

A generated log keeps every id as it is, so that cold rows can be told from warm ones. A model should not see them so:
the embedding row of an id that was never trained is what it was initialised with, noise. Train on the ids as they are
(with a few of them replaced by 0 at random, so that row 0 learns what to say of an unknown one), and predict with cold
ids mapped to 0: `unseen_to_unknown`. A production system does the same, as its vocabulary is that of the training days.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..schema import UNKNOWN
from ..storage.log import Part

_BLOCK = 2**20  # rows looked at together


@dataclass(frozen=True, slots=True)
class Seen:
    """Which ids of each field a part of a log holds: an array of (field.rows,) bool for each."""

    seen: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, train: Part) -> Seen:
        seen = tuple(np.zeros(field.rows, bool) for field in train.schema.fields)
        for first in range(0, train.rows, _BLOCK):
            block = np.asarray(train.ids[first : first + _BLOCK])
            for column, known in enumerate(seen):
                known[block[:, column]] = True
        return cls(seen)

    def cold(self, ids: np.ndarray) -> np.ndarray:
        """(rows, fields) bool: where an id was not seen. An id 0 is cold, unless training had it."""
        return np.stack([~known[ids[:, column]] for column, known in enumerate(self.seen)], axis=1)

    def to_unknown(self, ids: np.ndarray) -> np.ndarray:
        """(rows, fields) int32: `ids` with 0 for each that was not seen."""
        return np.where(self.cold(ids), np.int32(UNKNOWN), ids)


def unseen_to_unknown(train: Part, part: Part) -> Part:
    """`part` with id 0 for each id that `train` does not hold; its ids are then an array in memory."""
    return replace(part, ids=Seen.of(train).to_unknown(part.ids))


def cold_shares(train: Part, part: Part) -> dict[str, float]:
    """The share of the rows of `part` whose id `train` does not hold, of each field."""
    seen = Seen.of(train)
    count = np.zeros(len(part.schema.fields), np.int64)
    for first in range(0, part.rows, _BLOCK):
        count += seen.cold(part.ids[first : first + _BLOCK]).sum(axis=0)
    return dict(zip(part.schema.names, (count / max(part.rows, 1)).tolist(), strict=True))
