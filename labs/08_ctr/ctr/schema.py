"""Which ids and numbers an impression has.

Every field has ids 0 to rows - 1, and id 0 is kept for what training never saw (OOV, out of vocabulary).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import CtrError

MOST_ROWS = 1 << 31  # that int32 ids reach
UNKNOWN = 0  # the id of all values that the vocabulary does not hold


@dataclass(frozen=True, slots=True)
class Field:
    """One categorical column: its name, and the rows that its part of the embedding table has, row 0 included."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a click log: `fields` of ids in order, then `dense` numbers by name.

    `hours`: the log's `times` count seconds, so that hours of the day and days mean something; False where they only
    give an order.
    """

    fields: tuple[Field, ...]
    dense: tuple[str, ...] = ()
    hours: bool = True

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields] + list(self.dense)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise CtrError(f"a schema names {twice[0]!r} twice: give each column a name of its own")
        if not self.fields:
            raise CtrError("a schema needs at least one field of ids")
        small = next((field for field in self.fields if field.rows < 1), None)
        if small is not None:
            raise CtrError(f"field {small.name!r} has {small.rows} rows: it needs one at least, for unknown ids")
        large = next((field for field in self.fields if field.rows > MOST_ROWS), None)
        if large is not None:
            raise CtrError(f"field {large.name!r} has {large.rows:,} rows, and ids are int32: hash it to fewer")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @property
    def rows(self) -> int:
        """Of all fields together: the rows of one concatenated table."""
        return sum(field.rows for field in self.fields)

    @property
    def offsets(self) -> np.ndarray:
        """(fields,) int64: where each field's rows begin in the concatenated table."""
        rows = np.array([field.rows for field in self.fields], np.int64)
        return np.cumsum(rows) - rows

    def column(self, name: str) -> int:
        """The place of a field among the ids. Raises CtrError for a name that is none."""
        if name not in self.names:
            raise CtrError(f"this log has no field {name!r}: it has {', '.join(self.names)}")
        return self.names.index(name)

    def to_dict(self) -> dict[str, Any]:
        return {
            "fields": [{"name": field.name, "rows": field.rows} for field in self.fields],
            "dense": list(self.dense),
            "hours": self.hours,
        }

    @classmethod
    def from_dict(cls, read: Any) -> Schema:
        """What `to_dict` made. Raises CtrError for anything else."""
        try:
            fields = tuple(Field(str(field["name"]), int(field["rows"])) for field in read["fields"])
            return cls(fields, tuple(str(name) for name in read["dense"]), bool(read["hours"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CtrError(f"this is no schema of a click log ({error!r})") from error


def difference(before: Schema, now: Schema) -> str:
    """The first thing in which two schemas differ, in words."""
    for one, other in zip(before.fields, now.fields, strict=False):
        if one.name != other.name:
            return f"field {other.name!r} where {one.name!r} was"
        if one.rows != other.rows:
            return f"field {other.name!r} has {other.rows:,} rows where it had {one.rows:,}"
    if len(before.fields) != len(now.fields):
        return f"{len(now.fields)} fields where there were {len(before.fields)}"
    if before.dense != now.dense:
        changed = sorted(set(before.dense) ^ set(now.dense))
        return f"dense feature {changed[0]!r} is in one alone" if changed else "dense features in another order"
    return "times in seconds and times that only give an order"
