"""Which rows are warm and which cold: whether training saw their member and their ad.

A model has learned nothing of an id that training never had, so one number over all rows hides two different ones.
"""

from __future__ import annotations

import numpy as np

from ..cold import Seen
from ..storage.log import Part

FIELDS = ("member", "ad")


def slices(ids: np.ndarray, train: Part) -> dict[str, np.ndarray]:
    """Name -> (rows,) bool: "warm", and "cold member" and "cold ad", which may share rows. Fields that the log does not
    have are left out, and nothing is left where it has neither."""
    columns = {name: train.schema.column(name) for name in FIELDS if name in train.schema.names}
    if not columns:
        return {}
    known = Seen.of(train).known
    cold = {f"cold {name}": ~known[column][ids[:, column]] for name, column in columns.items()}
    return {"warm": ~np.any(list(cold.values()), axis=0), **cold}
