"""Criteo's display advertising challenge: a label, 13 counts and 26 hashed values a line, between tabs, no header.

    label \\t I1 ... I13 \\t C1 ... C26          the seven days of Kaggle's challenge, or the 24 of the terabyte log

Rows are in the order of time and have no clock: `times` of the log are row numbers. Positives and negatives were
sampled at different rates, so the share of clicks is no click-through rate.

A count x becomes log1p(max(x, 0)), which is finite for every integer: the usual log(x + 3) is not, since counts of -3
and less do occur. A count that is not there becomes 0, and 1 in a second dense feature of its own ("I1_missing"), so
that the model can tell it from a count of 0. An empty hashed value is a value like any other, with a row of its own.

Source: the format in Criteo's read-me; NaN losses from log(x + 3): github.com/facebookresearch/dlrm/issues/363.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..storage.log import ClickLog
from ..threads import in_order
from .text import Block, TextFile
from .vocabulary import HEX, MISSING, Column, Vocabularies
from .writing import DEFAULT_TRAIN, Progress, Rows, Settings, write_log

COUNTS = tuple(f"I{k}" for k in range(1, 14))
VALUES = tuple(f"C{k}" for k in range(1, 27))
DENSE = (*COUNTS, *(f"{name}_missing" for name in COUNTS))
COLUMNS = 1 + len(COUNTS) + len(VALUES)
MINIMUM = 10  # of BARS' Criteo_x4: rarer values are unknown


def read_criteo(
    path: Path | str,
    folder: Path | str,
    *,
    train: float = DEFAULT_TRAIN,
    minimum: int = MINIMUM,
    most_rows: int | None = None,
    vocabulary: Vocabularies | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> ClickLog:
    """The log of a Criteo file (train.txt, day_0; also .gz), written to `folder` with its vocabulary.json.

    train: share of the rows, the first ones, to train on and to fit the vocabulary on; validation and test halve the
    rest. minimum: values that came less often have id 0. most_rows: longer tables are hashed to as many rows.
    vocabulary: take this one, and fit none. limit: read no more rows than this. The log has 26 fields and 26 dense
    features. Raises CtrError, with the line, for a file that is not of this form.
    """
    settings = Settings(train, minimum, most_rows, vocabulary, progress)
    columns = [Column(name, HEX) for name in VALUES]
    about = {"source": "criteo", "file": Path(path).name}
    with TextFile(path, b"\t", "a Criteo file with labels") as file:
        rows = _rows(file, limit, settings)
        return write_log(folder, rows, columns, DENSE, settings, hours=False, about=about)


def dense_of(counts: np.ndarray) -> np.ndarray:
    """(rows, 2 * counts) float32 of (rows, counts) int64: log1p(max(x, 0)), then 1 where x is MISSING, else 0."""
    return np.concatenate([np.log1p(np.maximum(counts, 0)), counts == MISSING], axis=1, dtype=np.float32)


def _rows(file: TextFile, limit: int | None, settings: Settings) -> Iterator[Rows]:
    counts = list(range(1, 1 + len(COUNTS)))
    values = list(range(1 + len(COUNTS), COLUMNS))

    def rows(block: Block) -> tuple[Block, Rows]:
        cells = file.cells(block, COLUMNS)
        labels = cells.labels(0, "the label")
        dense = dense_of(cells.integers(counts, list(COUNTS)))
        keys = cells.hexadecimals(values, list(VALUES))
        return block, Rows(keys, dense, labels, block.first_line - 1 + np.arange(cells.rows))

    for block, some in in_order(rows, file.blocks(limit)):
        settings.say("reading", block.taken, file.size)
        yield some
