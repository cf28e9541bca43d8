"""The half that all readers share: keys wait in temporary files, vocabularies are fitted, and the log is written."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..errors import CtrError
from ..schema import Schema
from ..storage.log import ClickLog, LogWriter, refuse_existing
from .vocabulary import VOCABULARY, Column, Vocabularies, fit

ROWS = 1 << 17  # at a time: a shard of the log
DEFAULT_TRAIN = 0.8  # share of the rows; validation and test halve the rest

Progress = Callable[[str, int, int], None]  # (what, done, of how much), as gpukit.progress.step_progress yields it


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows in the order of time: keys (rows, fields) int64, dense (rows, numbers) float32, labels (rows,) uint8,
    times (rows,) int64."""

    keys: np.ndarray
    dense: np.ndarray
    labels: np.ndarray
    times: np.ndarray


@dataclass(frozen=True, slots=True)
class Settings:
    """What a reader was asked for. `vocabulary`: one that was fitted before, on another log's training rows."""

    train: float = DEFAULT_TRAIN
    minimum: int = 1
    most_rows: int | None = None
    vocabulary: Vocabularies | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if not 0 < self.train < 1:
            raise CtrError(f"a training share of {self.train} leaves nothing to train on, or to test: try 0.8")

    def say(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)


def write_log(
    folder: Path | str,
    rows: Iterable[Rows],
    columns: Sequence[Column],
    dense: Sequence[str],
    settings: Settings,
    *,
    hours: bool,
    about: dict[str, Any],
) -> ClickLog:
    """The log of rows that are read once. Raises CtrError for a folder that holds one, or cannot be written."""
    folder = Path(folder)
    refuse_existing(folder)
    given = settings.vocabulary
    if given is not None and [(c.name, c.kind) for c in given.columns] != [(c.name, c.kind) for c in columns]:
        raise CtrError(
            f"this vocabulary is of {', '.join(c.name for c in given.columns)}, and the file has "
            f"{', '.join(c.name for c in columns)}: give one that was fitted on such a file"
        )
    with _Waiting(folder, len(columns), len(dense)) as waiting:
        for some in rows:
            waiting.append(some)
        training = round(waiting.rows * settings.train)
        if training == 0 or training == waiting.rows:
            raise CtrError(
                f"{waiting.rows} rows are too few: a share of {settings.train} leaves none to train on, or none to test"
            )
        fitted = given or fit(columns, waiting.keys(training, settings.say), settings.minimum, settings.most_rows)
        with LogWriter(folder, Schema(fitted.fields, tuple(dense), hours)) as writer:
            for some in waiting.all():
                writer.append(fitted.encode(some.keys), some.dense, some.labels, some.times)
                settings.say("writing", writer.rows, waiting.rows)
            fitted.save(folder / VOCABULARY)
            test = training + (waiting.rows - training) // 2
            return writer.finish(about, bounds=(training, test))


class _Waiting:
    """Rows in temporary files of the log's folder, which the system deletes with the process."""

    def __init__(self, folder: Path, fields: int, numbers: int):
        self.folder = folder
        self.rows = 0
        self._shapes = (
            (np.dtype(np.int64), (fields,)),
            (np.dtype(np.float32), (numbers,)),
            (np.dtype(np.uint8), ()),
            (np.dtype(np.int64), ()),
        )
        self._stack = contextlib.ExitStack()
        self._files: list[BinaryIO] = []
        self._new = False

    def __enter__(self) -> _Waiting:
        try:
            self._new = not self.folder.exists()
            self.folder.mkdir(parents=True, exist_ok=True)
            for _ in self._shapes:
                self._files.append(self._stack.enter_context(tempfile.TemporaryFile(dir=self.folder, buffering=0)))
        except OSError as error:
            self._stack.close()
            raise self._unwritable(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        if self._new:
            with contextlib.suppress(OSError):  # it holds a log now, as a rule
                self.folder.rmdir()

    def append(self, rows: Rows) -> None:
        try:
            for file, array in zip(self._files, (rows.keys, rows.dense, rows.labels, rows.times), strict=True):
                file.write(np.ascontiguousarray(array).data)
        except OSError as error:
            raise self._unwritable(error) from error
        self.rows += len(rows.labels)

    def keys(self, training: int, say: Progress) -> Iterator[np.ndarray]:
        """Those of the training rows, block by block."""
        for first in range(0, training, ROWS):
            end = min(first + ROWS, training)
            yield self._read(0, first, end)
            say("counting", end, training)

    def all(self) -> Iterator[Rows]:
        for first in range(0, self.rows, ROWS):
            end = min(first + ROWS, self.rows)
            yield Rows(*(self._read(column, first, end) for column in range(len(self._files))))

    def _read(self, column: int, first: int, end: int) -> np.ndarray:
        dtype, shape = self._shapes[column]
        array = np.empty((end - first, *shape), dtype)
        if array.size:
            file = self._files[column]
            file.seek(first * (array.nbytes // len(array)))
            file.readinto(array.data.cast("B"))  # type: ignore[attr-defined]
        return array

    def _unwritable(self, error: OSError) -> CtrError:
        return CtrError(
            f"{self.folder} cannot be written ({error.strerror or error}): make room, or give another folder"
        )
