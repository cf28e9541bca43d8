"""One look at all rows before training: whether they can be used, and how large their numbers are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import CtrError
from ..guards import check_dense, check_ids, check_labels, check_times
from ..storage.log import Part

ROWS = 1 << 18  # at a time


@dataclass(frozen=True)
class Survey:
    """mean, deviation (numbers,) float64 of the dense features; the share of clicks among the rows."""

    mean: np.ndarray
    deviation: np.ndarray
    rate: float


def survey(part: Part) -> Survey:
    """Checks ids, dense features, labels and times. Raises CtrError for the first that is wrong, with its row in the
    log, and where all labels are the same."""
    numbers = len(part.schema.dense)
    before = None
    count, clicks, mean, squares = 0, 0, np.zeros(numbers), np.zeros(numbers)
    for first in range(0, part.rows, ROWS):
        rows = part.take(slice(first, first + ROWS))
        check_ids(rows.ids, part.schema, rows.first)
        check_dense(rows.dense, part.schema.dense, rows.first)
        check_labels(rows.labels, rows.first)
        check_times(rows.times, rows.first, before)
        before = int(rows.times[-1])
        dense = rows.dense.astype(np.float64)
        here, away = dense.mean(0), dense.var(0) * rows.rows
        squares += away + (here - mean) ** 2 * (count * rows.rows / (count + rows.rows))  # Chan's update of a variance
        mean += (here - mean) * (rows.rows / (count + rows.rows))
        count += rows.rows
        clicks += int(np.count_nonzero(rows.labels))
    if clicks in (0, count):
        raise CtrError(
            f"all {count:,} rows from row {part.first:,} on are {'clicked' if clicks else 'not clicked'}: there is "
            "nothing to tell apart; make a longer log, or another split"
        )
    return Survey(mean, np.sqrt(squares / count), clicks / count)
