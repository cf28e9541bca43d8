"""A click log on disk: one flat file a column, read through memory maps, and a manifest that says what they hold.

    LOG/manifest.json    schema, rows, splits, shards with their checksums, where the log comes from
    LOG/ids.i32          (rows, fields) int32, row by row: a batch of neighbours is one stretch of bytes
    LOG/dense.f32        (rows, numbers) float32
    LOG/label.u1         (rows,) uint8: 0 or 1
    LOG/time.i8          (rows,) int64: seconds, never decreasing; only an order where schema.hours is False

Rows are in the order of time, so train, validation and test are stretches of rows, and no split can look ahead. The
manifest is written last: a folder without one is a log that was not finished.

Source: the layout of flat binary columns is that of NVIDIA DeepLearningExamples' DLRM (PyTorch).
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from gpukit import files

from ..errors import CtrError
from ..guards import as_numbers, check_dense, check_ids, check_labels, check_times
from ..schema import Schema

FORMAT = 1
MANIFEST = "manifest.json"
SPLITS = ("train", "validation", "test")
DEFAULT_SPLIT = (0.8, 0.1, 0.1)  # of the rows, in the order of time


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of rows of a log. The arrays are views of memory maps until they are used.

    ids (rows, fields) int32; dense (rows, numbers) float32; labels (rows,) uint8; times (rows,) int64; `first` is the
    place of its first row in the log.
    """

    schema: Schema
    ids: np.ndarray
    dense: np.ndarray
    labels: np.ndarray
    times: np.ndarray
    first: int = 0

    @property
    def rows(self) -> int:
        return len(self.labels)

    def take(self, which: slice) -> Part:
        """A stretch of this one; `which` has no step."""
        start, _, _ = which.indices(self.rows)
        columns = (self.ids[which], self.dense[which], self.labels[which], self.times[which])
        return Part(self.schema, *columns, first=self.first + start)


@dataclass(frozen=True, slots=True)
class ClickLog:
    """A finished log: `about` is what the manifest says of where it comes from."""

    folder: Path
    schema: Schema
    rows: int
    splits: dict[str, tuple[int, int]]  # name -> first row, and the row after the last
    shards: tuple[dict[str, Any], ...]  # "first", "rows" and "sha256" of each
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def all(self) -> Part:
        """Every row. Raises CtrError for a column that is missing or too short."""
        ids, dense, labels, times = (self._column(*column) for column in _columns(self.schema))
        return Part(self.schema, ids, dense, labels, times)

    def split(self, name: str) -> Part:
        """One of "train", "validation" and "test". Raises CtrError for another, or for one that has no rows."""
        if name not in self.splits:
            raise CtrError(f"{self.folder} has no split {name!r}: it has {', '.join(self.splits)}")
        first, last = self.splits[name]
        if first == last:
            raise CtrError(f"the split {name!r} of {self.folder} has no rows: make a longer log, or another split")
        return self.all.take(slice(first, last))

    def _column(self, name: str, dtype: np.dtype, width: int | None) -> np.ndarray:
        path = self.folder / name
        shape = (self.rows,) if width is None else (self.rows, width)
        wanted = int(np.prod(shape)) * dtype.itemsize
        try:
            size = path.stat().st_size
        except OSError as error:
            raise CtrError(f"{path} cannot be read ({error.strerror}): make or copy the log again") from error
        if size != wanted:
            raise CtrError(
                f"{path} has {size:,} bytes where {self.rows:,} rows need {wanted:,}: it was cut short or changed; "
                "make or copy the log again"
            )
        if wanted == 0:
            return np.empty(shape, dtype)
        return np.memmap(path, dtype, "r", shape=shape)

    def verify(self) -> None:
        """Compares each shard with its checksum, and its values with the schema, one shard in memory at a time.

        Raises CtrError for the first shard that differs, or the first value that does not fit.
        """
        everything = self.all
        before = None
        for number, shard in enumerate(self.shards):
            part = everything.take(slice(shard["first"], shard["first"] + shard["rows"]))
            if checksum(part.ids, part.dense, part.labels, part.times) != shard["sha256"]:
                raise CtrError(
                    f"shard {number} of {self.folder} (rows {shard['first']:,} on) does not have the bytes that were "
                    "written: make or copy the log again"
                )
            try:
                _check(self.schema, part.ids, part.dense, part.labels, part.times, part.first, before)
            except CtrError as error:
                raise CtrError(error.message, file=str(self.folder)) from None
            before = int(part.times[-1])


def open_log(folder: Path | str) -> ClickLog:
    """The log in a folder. Raises CtrError for one that is missing, not finished, or of another format."""
    folder = Path(folder)
    path = folder / MANIFEST
    if not folder.is_dir():
        raise CtrError(f"there is no folder {folder}: `gpukit ctr generate` makes a log")
    if not path.is_file():
        raise CtrError(f"{folder} has no {MANIFEST}: it is no click log, or one that was not finished; make it again")
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if read["format"] != FORMAT:
            raise CtrError(f"this is of format {read['format']}, and this program reads {FORMAT}: make the log again")
        splits = {name: (int(first), int(last)) for name, (first, last) in read["splits"].items()}
        shards = [(int(shard["first"]), int(shard["rows"]), str(shard["sha256"])) for shard in read["shards"]]
        log = ClickLog(
            folder,
            Schema.from_dict(read["schema"]),
            int(read["rows"]),
            splits,
            tuple({"first": first, "rows": rows, "sha256": digest} for first, rows, digest in shards),
            dict(read["about"]),
        )
    except CtrError as error:
        raise CtrError(error.message, file=str(path)) from None
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = f"has no {error}" if isinstance(error, KeyError) else f"cannot be read ({error})"
        raise CtrError(f"{path} {what}: make or copy the log again") from error
    check_stretches(log.rows, log.splits, [(first, rows) for first, rows, _ in shards], path)
    return log


def check_stretches(rows: int, splits: dict[str, tuple[int, int]], shards: Sequence[tuple[int, int]], at: Path) -> None:
    """Raises CtrError unless the splits, and the shards as (first row, rows), each follow one another from the first
    row to the last: otherwise rows would be left out, or learned from and tested on."""
    if tuple(splits) != SPLITS:
        raise CtrError(f"{at} has splits {', '.join(splits) or 'of no name'}, and a log has {', '.join(SPLITS)}")
    for what, stretches in (("splits", list(splits.values())), ("shards", [(a, a + n) for a, n in shards])):
        edge = 0
        for first, end in stretches:
            if first != edge or end < first:
                raise CtrError(
                    f"{at} has {what} that do not follow one another (rows {first:,} to {end:,} where row {edge:,} "
                    "comes next): it was edited; make or copy the log again"
                )
            edge = end
        if edge != rows:
            raise CtrError(
                f"{at} says {rows:,} rows, and its {what} hold {edge:,}: it was edited; make or copy the log again"
            )


class LogWriter:
    """Writes a log shard by shard, in the order of time, keeping no more than one shard in memory.

    with LogWriter(folder, schema) as writer:
        writer.append(ids, dense, labels, times)
        log = writer.finish(about={...})
    """

    def __init__(self, folder: Path | str, schema: Schema):
        self.folder = Path(folder)
        self.schema = schema
        self.rows = 0
        self._shards: list[dict[str, Any]] = []
        self._last_time: int | None = None
        refuse_existing(self.folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._files: list[BinaryIO] = [(self.folder / name).open("wb") for name, _, _ in _columns(schema)]
        except OSError as error:
            raise CtrError(f"{self.folder} cannot be written ({error.strerror}): give another folder") from error

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with contextlib.suppress(CtrError):  # a full disk was said by what wrote, or is said by `finish`
            self._close()

    def _close(self) -> None:
        fault = None
        for file in self._files:
            try:
                file.close()
            except OSError as error:
                fault = error
        if fault is not None:
            raise CtrError(f"{self.folder} cannot be written ({fault.strerror}): make room, or give another") from fault

    def append(
        self,
        ids: np.ndarray,
        dense: np.ndarray,
        labels: np.ndarray,
        times: np.ndarray,
        first_row: int | None = None,
    ) -> None:
        """The next shard: arrays as of `Part`; `first_row`: what an error calls its first row, by default its place in
        the log. Raises CtrError where it has no rows or other shapes, and for what no log may hold: ids outside their
        field, numbers that are not finite, labels other than 0 and 1, times that go back."""
        number = len(self._shards)
        columns = _columns(self.schema)
        ids, dense, labels, times = given = tuple(
            as_numbers(array, f"{name} of shard {number}")
            for array, (name, _, _) in zip((ids, dense, labels, times), columns, strict=True)
        )
        rows = labels.size
        if rows == 0:
            raise CtrError(f"shard {number} has no rows: leave empty shards out")
        for array, (name, _, width) in zip(given, columns, strict=True):
            shape = (rows,) if width is None else (rows, width)
            if array.shape != shape:
                raise CtrError(f"shard {number} has {name} of shape {array.shape}, where {shape} belongs")
        with np.errstate(over="ignore"):  # what float32 does not reach is found as an infinity
            dense = np.ascontiguousarray(dense, np.float32)
        _check(self.schema, ids, dense, labels, times, self.rows if first_row is None else first_row, self._last_time)
        given = (ids, dense, labels, times)
        arrays = [np.ascontiguousarray(array, dtype) for array, (_, dtype, _) in zip(given, columns, strict=True)]
        self._last_time = int(arrays[3][-1])
        try:
            for file, array in zip(self._files, arrays, strict=True):
                file.write(array.data)
        except OSError as error:
            raise CtrError(f"{self.folder} cannot be written ({error.strerror}): make room, or give another") from error
        self._shards.append({"first": self.rows, "rows": rows, "sha256": checksum(*arrays)})
        self.rows += rows

    def finish(
        self, about: dict[str, Any], split: Sequence[float] = DEFAULT_SPLIT, bounds: Sequence[int] | None = None
    ) -> ClickLog:
        """Writes the manifest. `split`: the shares of rows of train, validation and test; or `bounds`, the first row of
        validation and of test. Raises CtrError for a log without rows."""
        if self.rows == 0:
            raise CtrError("this log has no rows: there is nothing to learn from")
        self._close()
        if bounds is None:
            bounds = [round(self.rows * split[0]), round(self.rows * (split[0] + split[1]))]
        edges = [0, *bounds, self.rows]
        if sorted(edges) != edges:
            raise CtrError(f"a split at rows {bounds[0]:,} and {bounds[1]:,} of {self.rows:,} is none")
        splits = dict(zip(SPLITS, itertools.pairwise(edges), strict=True))
        manifest = {
            "format": FORMAT,
            "schema": self.schema.to_dict(),
            "rows": self.rows,
            "splits": splits,
            "shards": self._shards,
            "about": about,
        }
        files.write_whole(self.folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")
        return open_log(self.folder)


def refuse_existing(folder: Path) -> None:
    """Raises CtrError for a folder that holds a finished log."""
    if (folder / MANIFEST).exists():
        raise CtrError(f"{folder} holds a log already: give another folder, or delete that one")


def checksum(*arrays: np.ndarray) -> str:
    """SHA-256 of the bytes of arrays, one after the other."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
    return digest.hexdigest()


def _check(
    schema: Schema,
    ids: np.ndarray,
    dense: np.ndarray,
    labels: np.ndarray,
    times: np.ndarray,
    first_row: int,
    before: int | None,
) -> None:
    check_ids(ids, schema, first_row)
    check_dense(dense, schema.dense, first_row)
    check_labels(labels, first_row)
    check_times(times, first_row, before)


def _columns(schema: Schema) -> tuple[tuple[str, np.dtype, int | None], ...]:
    """File, dtype and width (None for one number a row) of each column, in the order of `Part`."""
    return (
        ("ids.i32", np.dtype("<i4"), len(schema.fields)),
        ("dense.f32", np.dtype("<f4"), len(schema.dense)),
        ("label.u1", np.dtype("u1"), None),
        ("time.i8", np.dtype("<i8"), None),
    )
