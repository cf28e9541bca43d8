"""Which rows a process reads: its stretch of each batch that one process alone would have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..storage.log import Part
from .processes import Processes


def order(rows: int, seed: int, epoch: int) -> np.ndarray:
    """(rows,) int64: the rows of a part in the order of an epoch, another one for each epoch, and the same in every
    process, whatever their number."""
    return np.random.default_rng((seed, epoch)).permutation(rows)


def shuffled(part: Part, batch: int, seed: int, epoch: int, processes: Processes) -> Iterator[tuple[int, Part]]:
    """(rows of the whole batch, this process's stretch of it) for each batch of an epoch; the last may be smaller."""
    rows = order(part.rows, seed, epoch)
    for first in range(0, part.rows, batch):
        whole = rows[first : first + batch]
        own = whole[processes.stretch(len(whole))]
        yield len(whole), Part(part.schema, part.ids[own], part.dense[own], part.labels[own], part.times[own])


def in_turn(part: Part, batch: int, processes: Processes) -> Iterator[tuple[int, Part]]:
    """The same in the order of rows, to predict: every row is in one process's stretch, and in no other's."""
    for first in range(0, part.rows, batch):
        whole = part.take(slice(first, first + batch))
        yield whole.rows, whole.take(processes.stretch(whole.rows))
