"""Which rows are warm and which cold: whether training saw their member and their ad.

A model has learned nothing of an id that training never had, so one number over all rows hides two different ones.
"""

from __future__ import annotations

import numpy as np

from ..schema import UNKNOWN
from ..storage.log import Part

FIELDS = ("member", "ad")
CHUNK = 1 << 22  # rows of the training part that are read at once


def seen(train: Part, field: str) -> np.ndarray:
    """(rows of the field,) bool: the ids that the training part has. The unknown id is never seen."""
    column = train.schema.column(field)
    found = np.zeros(train.schema.fields[column].rows, bool)
    for first in range(0, train.rows, CHUNK):
        found[train.ids[first : first + CHUNK, column]] = True
    found[UNKNOWN] = False
    return found


def slices(ids: np.ndarray, train: Part) -> dict[str, np.ndarray]:
    """Name -> (rows,) bool: "warm", and "cold member" and "cold ad", which may share rows. Fields that the log does not
    have are left out, and nothing is left where it has neither."""
    names = [name for name in FIELDS if name in train.schema.names]
    cold = {f"cold {name}": ~seen(train, name)[ids[:, train.schema.column(name)]] for name in names}
    return {"warm": ~np.any(list(cold.values()), axis=0), **cold} if cold else {}
