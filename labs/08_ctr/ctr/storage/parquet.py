"""Click logs as Parquet, for other programs: shards of one table, which know their schema, splits and number.

Columns: each field (int32), each dense feature (float32), `label` (uint8: 0 or 1), `time` (int64). What the log is
made of travels in the metadata of each file's schema, under the key "gpukit.ctr", as JSON. The truth of a generated log
stays where it is: it is never a column.

Source: Apache Parquet's format, through pyarrow (https://arrow.apache.org/docs/python/parquet.html).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpukit import files

from ..errors import CtrError
from ..extras import INSTALL
from ..schema import Schema, difference
from .log import DEFAULT_SPLIT, SPLITS, ClickLog, LogWriter, Part, check_stretches

FORMAT = 1
KEY = b"gpukit.ctr"
LABEL, TIME = "label", "time"
ROWS_PER_FILE = 1 << 20
ROWS_PER_GROUP = 1 << 16
ROWS_READ = 1 << 17  # at a time, which are then a shard of the log

AGAIN = "write or copy it again"


def write_parquet(log: ClickLog, folder: Path | str, rows_per_file: int = ROWS_PER_FILE) -> list[Path]:
    """Writes a log as `part-00000.parquet` and so on, row group by row group; returns the files, in order.

    Raises CtrError for a folder that holds Parquet files already or cannot be written, for a log that has a field or a
    feature named "label" or "time", and without pyarrow.
    """
    pa, pq = _arrow()
    folder = Path(folder)
    columns = _types(log.schema)
    if rows_per_file < 1:
        raise CtrError(f"a file of {rows_per_file} rows is none: give rows_per_file, 1 or more")
    if folder.is_dir() and any(folder.glob("*.parquet")):
        raise CtrError(f"{folder} holds Parquet files already: give another folder, or delete them")
    firsts = range(0, log.rows, rows_per_file)
    everything = log.all
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, first in enumerate(firsts):
            part = everything.take(slice(first, first + rows_per_file))
            about = {
                "format": FORMAT,
                "schema": log.schema.to_dict(),
                "rows": log.rows,
                "splits": log.splits,
                "file": number,
                "files": len(firsts),
                "first": first,
                "about": {name: said for name, said in log.about.items() if name != "truth"},  # which stays behind
            }
            schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])
            schema = schema.with_metadata({KEY: json.dumps(about).encode()})
            path = folder / f"part-{number:05}.parquet"
            _write(path, part, schema, pa, pq)
            written.append(path)
    except OSError as error:
        raise CtrError(f"{folder} cannot be written ({error.strerror or error}): make room, or give another") from error
    return written


def read_parquet(path: Path | str, folder: Path | str, *, schema: Schema | None = None) -> ClickLog:
    """The log of a Parquet file, or of a folder of them, streamed into a new log at `folder`.

    `schema`: of files that other programs wrote, which have the columns named above and say nothing of their own; they
    are read in the order of their names, which must be that of time, and split as by default. Raises CtrError for a
    file that is missing, cut short or empty, for columns missing, extra or of another type, for a schema that changes
    from shard to shard, and for each value that no log may hold: with the file, the column, the value and the row
    within the file.
    """
    _arrow()
    path = Path(path)
    shards = _shards(path, schema)
    first = shards[0]
    with LogWriter(folder, first.schema) as writer:
        for shard in shards:
            row = 0
            for arrays in _batches(shard):
                try:
                    writer.append(*arrays, first_row=row)
                except CtrError as error:
                    raise CtrError(error.message, file=str(shard.path)) from None
                row += len(arrays[2])
        bounds = None if first.splits is None else [first.splits[name][0] for name in SPLITS[1:]]
        return writer.finish(first.about or {"source": str(path)}, DEFAULT_SPLIT, bounds)


# --- writing ---------------------------------------------------------------------------------------------------------


def _write(path: Path, part: Part, schema: Any, pa: Any, pq: Any) -> None:
    """One shard, whole or not at all."""
    unfinished = files.unfinished(path)
    try:
        with pq.ParquetWriter(unfinished, schema, write_page_checksum=True) as writer:
            for first in range(0, part.rows, ROWS_PER_GROUP):
                group = part.take(slice(first, first + ROWS_PER_GROUP))
                columns = [*group.ids.T, *group.dense.T, group.labels, group.times]
                arrays = [pa.array(np.ascontiguousarray(column)) for column in columns]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=ROWS_PER_GROUP)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _types(schema: Schema) -> dict[str, str]:
    """The type of each column, in order. Raises CtrError for names that two columns would share."""
    taken = {LABEL, TIME}.intersection((*schema.names, *schema.dense))
    if taken:
        raise CtrError(f"this log names a column {min(taken)!r}, which in Parquet is the log's own: rename it")
    return {
        **dict.fromkeys(schema.names, "int32"),
        **dict.fromkeys(schema.dense, "float"),
        LABEL: "uint8",
        TIME: "int64",
    }


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shard:
    """A Parquet file whose columns are those of its schema. `splits` and what follows are None in files of others."""

    path: Path
    schema: Schema
    rows: int
    total: int | None = None
    splits: dict[str, tuple[int, int]] | None = None
    number: int | None = None
    of: int | None = None
    first: int | None = None
    about: dict[str, Any] | None = None


def _shards(path: Path, schema: Schema | None) -> list[_Shard]:
    """Those of a log, in order, and all of them."""
    if path.is_dir():
        paths = sorted(path.glob("*.parquet"))
        if not paths:
            raise CtrError(f"{path} holds no Parquet files (*.parquet): name the folder that does")
    elif path.is_file():
        paths = [path]
    else:
        raise CtrError(f"there is no file or folder {path}: name a Parquet file, or a folder of them")
    shards = [_opened(each, schema) for each in paths]
    one = shards[0]
    for shard in shards[1:]:
        if shard.schema != one.schema:
            raise _error(
                shard.path,
                f"its schema is not that of {one.path.name} ({difference(one.schema, shard.schema)}): {AGAIN}",
            )
        if (shard.total, shard.splits, shard.of) != (one.total, one.splits, one.of):
            raise _error(shard.path, f"it is of another log than {one.path.name}: keep each log in a folder of its own")
    if one.of is None:
        return shards
    shards.sort(key=lambda shard: shard.number or 0)
    numbers = [shard.number for shard in shards]
    twice = next((a for a, b in itertools.pairwise(shards) if a.number == b.number), None)
    if twice is not None:
        raise _error(twice.path, f"shard {twice.number} of the log is here twice: delete one")
    missing = sorted(set(range(one.of)) - set(numbers))
    if missing:
        raise CtrError(
            f"{path} lacks shard {missing[0]} of the log's {one.of} ({len(missing)} missing): name the folder that "
            "holds all of them"
        )
    stretches = [(shard.first or 0, shard.rows) for shard in shards]
    check_stretches(one.total or 0, one.splits or {}, stretches, path)
    return shards


def _opened(path: Path, schema: Schema | None) -> _Shard:
    pa, pq = _arrow()
    try:
        with pq.ParquetFile(path) as file:
            arrow, rows = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise _error(path, f"this is no Parquet file, or one that was cut short ({_words(error)}): {AGAIN}") from error
    if rows == 0:
        raise _error(path, "this shard has no rows: delete it, or write it again")
    said = (arrow.metadata or {}).get(KEY)
    if said is None and schema is None:
        raise _error(
            path, "this file does not say which columns are ids: give the schema, read_parquet(..., schema=...)"
        )
    shard = _Shard(path, schema, rows) if said is None and schema is not None else _told(path, said, rows)
    if schema is not None and shard.schema != schema:
        raise _error(path, f"its schema is not the one asked for ({difference(schema, shard.schema)})")
    _check_columns(path, {field.name: str(field.type) for field in arrow}, len(arrow), _types(shard.schema))
    return shard


def _told(path: Path, said: bytes | None, rows: int) -> _Shard:
    """What one of our own files says of itself."""
    try:
        read = json.loads(said or b"")
        if read["format"] != FORMAT:
            raise ValueError(f"format {read['format']}, and this reads {FORMAT}")
        splits = {str(name): (int(first), int(last)) for name, (first, last) in read["splits"].items()}
        return _Shard(
            path,
            Schema.from_dict(read["schema"]),
            rows,
            int(read["rows"]),
            splits,
            int(read["file"]),
            int(read["files"]),
            int(read["first"]),
            dict(read["about"]),
        )
    except (CtrError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _error(path, f"what it says of the log cannot be read ({_words(error)}): {AGAIN}") from error


def _check_columns(path: Path, found: dict[str, str], count: int, wanted: dict[str, str]) -> None:
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    if missing:
        raise _error(path, f"column {missing[0]!r} is missing ({len(missing)} of {len(wanted)} are): {AGAIN}")
    if extra:
        raise _error(
            path, f"column {extra[0]!r} is in no schema of this log: leave it out, or write all shards with it"
        )
    if count != len(found):
        raise _error(path, "a column is there twice: leave one out")
    for name, kind in wanted.items():
        if found[name] != kind:
            raise _error(path, f"column {name!r} is {found[name]}, and {kind} belongs there: convert it before writing")


def _batches(shard: _Shard) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Arrays as of `Part`, ROWS_READ rows or fewer at a time. Raises CtrError for a null, and for pages damaged."""
    pa, pq = _arrow()
    names = list(_types(shard.schema))
    fields = len(shard.schema.fields)
    row = 0
    try:
        with pq.ParquetFile(shard.path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(ROWS_READ, columns=names):
                columns = [batch.column(name) for name in names]
                for name, column in zip(names, columns, strict=True):
                    if column.null_count:
                        at = row + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
                        raise _error(shard.path, f"column {name!r} has no value at row {at:,} (null): fill it")
                arrays = [column.to_numpy(zero_copy_only=False) for column in columns]
                rows = len(batch)
                row += rows
                ids = np.stack(arrays[:fields], axis=1)
                dense = np.stack(arrays[fields:-2], axis=1) if shard.schema.dense else np.empty((rows, 0), np.float32)
                yield ids, dense, arrays[-2], arrays[-1]
    except (pa.ArrowException, OSError) as error:
        raise _error(shard.path, f"its rows from {row:,} on cannot be read ({_words(error)}): {AGAIN}") from error


def _words(error: BaseException) -> str:
    """An error's own words on one line."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def _error(path: Path, message: str) -> CtrError:
    return CtrError(message, file=str(path))


def _arrow() -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet. Raises CtrError where they are not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise CtrError(f"Parquet needs pyarrow: {INSTALL}") from error
    return pyarrow, pyarrow.parquet
