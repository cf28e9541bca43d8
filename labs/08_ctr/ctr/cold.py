"""Cold ids: those of later rows that training never had.

A log keeps every id as it is, so that cold rows can be told from warm ones. A model should not see them so: the
embedding row of an id that was never trained is what it was initialised with, noise. It is trained on the ids as they
are (a few of them replaced by 0 at random, so that row 0 learns what to say of an unknown one), and judged on cold ids
mapped to 0. When it is done, their rows become copies of row 0 (`model.table.replace_noise`), which comes to the same.
A production system does so, too, as its vocabulary is that of the training days.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .schema import UNKNOWN
from .storage.log import Part

_BLOCK = 1 << 20  # rows read at once


@dataclass(frozen=True, slots=True)
class Seen:
    """Which ids a part of a log has: of each field (rows of the field,) bool. The unknown id is never seen."""

    known: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, train: Part) -> Seen:
        known = tuple(np.zeros(field.rows, bool) for field in train.schema.fields)
        for first in range(0, train.rows, _BLOCK):
            block = np.asarray(train.ids[first : first + _BLOCK])
            for column, seen in enumerate(known):
                seen[block[:, column]] = True
        for seen in known:
            seen[UNKNOWN] = False
        return cls(known)

    def cold(self, ids: np.ndarray) -> np.ndarray:
        """(rows, fields) bool: where an id was not seen."""
        return np.stack([~seen[ids[:, column]] for column, seen in enumerate(self.known)], axis=1)

    def to_unknown(self, ids: np.ndarray) -> np.ndarray:
        """(rows, fields) int32: `ids` with 0 for each that was not seen."""
        return np.where(self.cold(ids), np.int32(UNKNOWN), ids)


def unseen_to_unknown(train: Part, part: Part) -> Part:
    """`part` with id 0 for each id that `train` does not have; its ids are then an array in memory."""
    return replace(part, ids=Seen.of(train).to_unknown(part.ids))
