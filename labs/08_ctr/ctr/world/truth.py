"""The true probability of each row of a generated log, kept in a folder of its own.

    LOG/truth/p.f64    (rows,) float64: P(click) of each impression before negatives were left out

Nothing that trains opens it: metrics do, to say how good a model could have been.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..errors import CtrError
from ..storage.log import ClickLog, Part

FILE = "truth/p.f64"
_BLOCK = 2**20  # rows that are checked at a time


class TruthWriter:
    """Writes the truth shard by shard; `about` is what the log's manifest says of it."""

    def __init__(self, folder: Path):
        path = folder / FILE
        path.parent.mkdir(exist_ok=True)
        self._file = path.open("wb")
        self._digest = hashlib.sha256()
        self._rows = 0

    def __enter__(self) -> TruthWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def append(self, p: np.ndarray) -> None:
        """`p`: (rows,) float64."""
        data = np.ascontiguousarray(p, "<f8").view(np.uint8).data
        self._file.write(data)
        self._digest.update(data)
        self._rows += len(p)

    def finish(self) -> dict[str, Any]:
        self._file.close()
        return {"file": FILE, "rows": self._rows, "sha256": self._digest.hexdigest()}


def open_truth(log: ClickLog) -> np.ndarray:
    """(rows,) float64, memory-mapped and not to be written. Raises CtrError for a log that has none, or not all."""
    if not isinstance(log.about.get("truth"), dict):
        raise CtrError(f"{log.folder} is no generated log: nobody knows the true probability of its clicks")
    path = log.folder / FILE
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CtrError(f"{path} cannot be read ({error.strerror}): make the log again, its truth is missing") from error
    if size != log.rows * 8:
        raise CtrError(
            f"{path} has {size:,} bytes where {log.rows:,} rows need {log.rows * 8:,}: it was cut short or changed; "
            "make the log again"
        )
    return np.memmap(path, "<f8", "r", shape=(log.rows,))


def truth_of(log: ClickLog, part: Part) -> np.ndarray | None:
    """(rows,) float64 of a part of the log; None for a log without truth. Raises CtrError where it is not whole."""
    if "truth" not in log.about:
        return None
    return np.array(open_truth(log)[part.first : part.first + part.rows])


def verify_truth(log: ClickLog) -> None:
    """Compares the truth with its checksum. Raises CtrError where it differs."""
    truth = open_truth(log)
    digest = hashlib.sha256()
    for first in range(0, log.rows, _BLOCK):
        digest.update(np.ascontiguousarray(truth[first : first + _BLOCK]).view(np.uint8).data)
    if digest.hexdigest() != log.about["truth"].get("sha256"):
        raise CtrError(f"{log.folder / FILE} does not have the bytes that were written: make the log again")
