"""Ids of values: a table of the values that training rows show often enough, fitted on those rows and no others.

A value that training never showed, or not `minimum` times, gets id 0. A vocabulary fitted on test rows as well would
give ids, and so rows of the embedding table, to values that nobody can know before the test; its table is trained on
nothing for them, and the share of cold ids that is reported would be wrong.

Values are int64 "keys" whatever their spelling: a decimal number, eight hexadecimal digits, or a text of up to eight
characters; an empty cell is a value like any other (MISSING), because that it is empty says something.

Where a table would be too long, its values are hashed instead: each falls on one of a given number of rows, together
with others. How many do is counted and said.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gpukit import files

from ..errors import CtrError
from ..schema import UNKNOWN, Field
from ..storage.log import ClickLog
from ..threads import in_order

FORMAT = 1
VOCABULARY = "vocabulary.json"  # beside the log's manifest
MISSING = np.iinfo(np.int64).min
INTEGER, HEX, TEXT = "integer", "hex", "text"
TEXT_BYTES = 8
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio, odd: Knuth's multiplicative hashing
MERGE = 1 << 20  # counts that wait, at least, before they are merged


@dataclass(frozen=True, slots=True)
class Column:
    """A column of values that get ids: its name, and how they are spelled (INTEGER, HEX or TEXT)."""

    name: str
    kind: str


@dataclass(frozen=True)
class Vocabulary:
    """The values of one column that have an id: values[k] has id k + 1.

    values: (rows - 1,) int64 keys, rising; minimum: how often training rows showed each, or more often.
    """

    name: str
    kind: str
    minimum: int
    values: np.ndarray

    @property
    def rows(self) -> int:
        """Of the field's table, that of unknown values included."""
        return 1 + len(self.values)

    def encode(self, keys: np.ndarray) -> np.ndarray:
        """(n,) int32 ids of (n,) keys; UNKNOWN for those that are not here."""
        if len(self.values) == 0:
            return np.full(len(keys), UNKNOWN, np.int32)
        at = self._place(keys)
        ids = self._table[at]
        others = np.flatnonzero((ids != UNKNOWN) & (self.values[ids - 1] != keys))  # whose place another value took
        at = at[others]
        while len(others):
            at = self._next(at)
            ids[others] = found = self._table[at]
            still = (found != UNKNOWN) & (self.values[found - 1] != keys[others])
            others, at = others[still], at[still]
        return ids

    @cached_property
    def _table(self) -> np.ndarray:
        """Ids at the places of their values, or at the next that was free: looking there takes a fifth of the time of a
        binary search, of which the processor guesses every second step wrong."""
        table = np.full(1 << self._bits, UNKNOWN, np.int32)
        ids, at = np.arange(1, self.rows, dtype=np.int32), self._place(self.values)
        while len(ids):
            free = table[at] == UNKNOWN
            table[at[free]] = ids[free]  # of several, the last stays
            left = table[at] != ids
            ids, at = ids[left], self._next(at[left])
        return table

    @property
    def _bits(self) -> int:
        """Of a place: four to eight places for each value."""
        return len(self.values).bit_length() + 2

    def _place(self, keys: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # modulo 2^64 is meant
            return (keys.view(np.uint64) * GOLDEN >> np.uint64(64 - self._bits)).view(np.int64)

    def _next(self, places: np.ndarray) -> np.ndarray:
        return (places + 1) & ((1 << self._bits) - 1)

    def to_dict(self) -> dict[str, Any]:
        values = [spelled(int(value), self.kind) for value in self.values]
        return {"name": self.name, "kind": self.kind, "minimum": self.minimum, "values": values}


@dataclass(frozen=True)
class Hashing:
    """Values of one column that share rows: id 1 + mixed(key, salt) mod (rows - 1). Row 0 stays unused.

    salt: of this column alone, so that two values which meet in one column do not meet in all. `collisions` is what the
    training rows showed: "values" (distinct), "alone" (that have a row to themselves), "shared" (the share of training
    impressions whose value shares its row).
    """

    name: str
    kind: str
    rows: int
    salt: int
    collisions: dict[str, float]

    def encode(self, keys: np.ndarray) -> np.ndarray:
        """(n,) int32 ids of (n,) keys, 1 to rows - 1."""
        return (1 + mixed(keys, self.salt) % np.uint64(self.rows - 1)).astype(np.int32)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "rows": self.rows,
            "salt": self.salt,
            "collisions": self.collisions,
        }


@dataclass(frozen=True)
class Vocabularies:
    """Of all fields of a log, in order."""

    columns: tuple[Vocabulary | Hashing, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(column.name, column.rows) for column in self.columns)

    def encode(self, keys: np.ndarray) -> np.ndarray:
        """(rows, fields) int32 ids of (rows, fields) int64 keys."""
        ids = np.empty(keys.shape, np.int32)

        def encode(place: int) -> None:
            ids[:, place] = self.columns[place].encode(np.ascontiguousarray(keys[:, place]))

        for _ in in_order(encode, range(len(self.columns))):
            pass
        return ids

    def save(self, path: Path) -> None:
        """As JSON; values as they were spelled in the file, None for an empty cell."""
        made = {"format": FORMAT, "fields": [column.to_dict() for column in self.columns]}
        files.write_whole(path, json.dumps(made) + "\n")

    @classmethod
    def load(cls, path: Path | str) -> Vocabularies:
        """What `save` wrote. Raises CtrError for anything else."""
        path = Path(path)
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            if read["format"] != FORMAT:
                raise ValueError(f"format {read['format']}, and this reads {FORMAT}")
            return cls(tuple(_column(each) for each in read["fields"]))
        except OSError as error:
            raise CtrError(
                f"cannot be read ({error.strerror or error}): name a log that has one", file=str(path)
            ) from error
        except (CtrError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise CtrError(f"this is no vocabulary ({error}): read the log again", file=str(path)) from error


def open_vocabularies(log: ClickLog) -> Vocabularies:
    """Those of a log that was read. Raises CtrError where there are none, or they are another log's."""
    path = log.folder / VOCABULARY
    if not path.exists():
        raise CtrError(f"{log.folder} has no {VOCABULARY}: only a log that was read from values has one")
    found = Vocabularies.load(path)
    for here, there in zip(found.fields, log.schema.fields, strict=False):
        if here != there:
            raise CtrError(
                f"field {here.name!r} of {here.rows:,} rows is {there.name!r} of {there.rows:,} in the log: this "
                "vocabulary is another log's; read the log again",
                file=str(path),
            )
    if len(found.fields) != len(log.schema.fields):
        raise CtrError(
            f"{len(found.fields)} fields, and the log has {len(log.schema.fields)}: read the log again", file=str(path)
        )
    return found


# --- fitting ---------------------------------------------------------------------------------------------------------


class Counts:
    """How often each key of one column came. Memory: 32 bytes for each distinct key, at most."""

    def __init__(self) -> None:
        self._values = np.empty(0, np.int64)
        self._counts = np.empty(0, np.int64)
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self._waits = 0

    def add(self, keys: np.ndarray) -> None:
        values, counts = np.unique(keys, return_counts=True)
        self._waiting.append((values, counts))
        self._waits += len(values)
        if self._waits > max(MERGE, len(self._values)):
            self._merge()

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """(distinct keys, rising; how often each came), (n,) int64 both."""
        self._merge()
        return self._values, self._counts

    def _merge(self) -> None:
        if self._waiting:
            values, counts = zip((self._values, self._counts), *self._waiting, strict=True)
            self._waiting, self._waits = [], 0
            self._values, where = np.unique(np.concatenate(values), return_inverse=True)
            counted = np.zeros(len(self._values), np.int64)
            np.add.at(counted, where, np.concatenate(counts))
            self._counts = counted


def fit(
    columns: Sequence[Column], training: Iterable[np.ndarray], minimum: int = 1, most_rows: int | None = None
) -> Vocabularies:
    """Vocabularies of the columns from their training rows: blocks of (rows, columns) int64 keys.

    minimum: a value that came less often is unknown. most_rows: a column whose table would have more rows than this is
    hashed to as many. Raises CtrError for settings that are none.
    """
    if minimum < 1:
        raise CtrError(f"a minimum count of {minimum} is none: give 1 or more")
    if most_rows is not None and most_rows < 3:
        raise CtrError(f"a table of {most_rows} rows has none to hash to beside that of unknown values: give 3 or more")
    counts = [Counts() for _ in columns]
    for block in training:
        for _ in in_order(lambda pair: pair[0].add(pair[1]), zip(counts, block.T, strict=True)):
            pass
    fitted: list[Vocabulary | Hashing] = []
    for column, count in zip(columns, counts, strict=True):
        values, came = count.result()
        kept = values[came >= minimum]
        if most_rows is not None and len(kept) + 1 > most_rows:
            fitted.append(_hashing(column, values, came, most_rows))
        else:
            fitted.append(Vocabulary(column.name, column.kind, minimum, kept))
    return Vocabularies(tuple(fitted))


def _hashing(column: Column, values: np.ndarray, came: np.ndarray, rows: int) -> Hashing:
    salt = int.from_bytes(hashlib.sha256(column.name.encode()).digest()[:8], "little")
    bare = Hashing(column.name, column.kind, rows, salt, {})
    row = bare.encode(values)
    alone = np.bincount(row, minlength=rows)[row] == 1
    collisions = {
        "values": len(values),
        "alone": int(alone.sum()),
        "shared": float(came[~alone].sum() / max(came.sum(), 1)),
    }
    return Hashing(column.name, column.kind, rows, salt, collisions)


def mixed(keys: np.ndarray, salt: int) -> np.ndarray:
    """(n,) uint64: keys, shuffled by the finalizer of SplitMix64.

    Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
    """
    with np.errstate(over="ignore"):  # modulo 2^64 is meant
        z = keys.astype(np.int64).view(np.uint64) ^ np.uint64(salt)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


# --- spelling --------------------------------------------------------------------------------------------------------


def text_keys(texts: Sequence[str | None]) -> np.ndarray:
    """(n,) int64 keys of texts of up to TEXT_BYTES ASCII characters, in alphabetical order; MISSING for None.

    Raises CtrError for another text.
    """
    wrong = next(
        (t for t in texts if t is not None and not (t.isascii() and len(t) <= TEXT_BYTES and "\0" not in t)), None
    )
    if wrong is not None:
        raise CtrError(f"{wrong!r} is no text of up to {TEXT_BYTES} ASCII characters")
    packed = np.array([(text or "").encode() for text in texts], f"S{TEXT_BYTES}")
    keys = packed.view(">i8").astype(np.int64)
    keys[[text is None for text in texts]] = MISSING
    return keys


def spelled(key: int, kind: str) -> str | int | None:
    """A key as it stands in the file."""
    if key == MISSING:
        return None
    if kind == HEX:
        return f"{key:08x}"
    if kind == TEXT:
        return key.to_bytes(TEXT_BYTES, "big").rstrip(b"\0").decode()
    return key


def _keys(values: Sequence[Any], kind: str) -> np.ndarray:
    """What `spelled` spelled."""
    if kind == TEXT:
        return text_keys(values)
    if kind not in (HEX, INTEGER):
        raise ValueError(f"values of kind {kind!r}")
    base = 16 if kind == HEX else 10
    return np.array([MISSING if value is None else int(str(value), base) for value in values], np.int64)


def _column(read: Any) -> Vocabulary | Hashing:
    name, kind = str(read["name"]), str(read["kind"])
    if "values" not in read:
        rows, salt = int(read["rows"]), int(read["salt"])
        if rows < 2 or not 0 <= salt < 1 << 64:
            raise ValueError(f"{name!r} has {rows} rows and the salt {salt}")
        return Hashing(name, kind, rows, salt, dict(read["collisions"]))
    keys = _keys(read["values"], kind)
    if np.any(keys[1:] <= keys[:-1]):
        raise ValueError(f"the values of {name!r} are not in rising order")
    return Vocabulary(name, kind, int(read["minimum"]), keys)
