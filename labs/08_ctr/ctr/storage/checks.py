"""What no click log may hold, each in a sentence that names the field, the value and the row.

A fault found here costs one look at the numbers; found later it is a device-side assert without a place, or weights
that are all NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import CtrError
from ..schema import Schema


def check_ids(ids: np.ndarray, schema: Schema, first_row: int = 0) -> None:
    """Raises CtrError for the first of (rows, fields) ids that its field's table has no row for, or that is no integer.

    `first_row`: what the first of these rows is called."""
    if ids.dtype.kind not in "iu":
        raise CtrError(f"ids are whole numbers, and these are {ids.dtype}: float32 alone changes ids above 16,777,216")
    limits = np.array([field.rows for field in schema.fields], np.int64)
    if len(ids) == 0 or (ids.min() >= 0 and np.all(ids.max(axis=0) < limits)):
        return
    row, column = _first((ids < 0) | (ids >= limits))
    field = schema.fields[column]
    raise CtrError(
        f"id {ids[row, column]} of field {field.name!r} at row {first_row + row:,} is outside 0 to {field.rows - 1:,}: "
        "give the field more rows, or give unknown values id 0"
    )


def check_dense(dense: np.ndarray, names: Sequence[str], first_row: int = 0) -> None:
    """Raises CtrError for the first of (rows, numbers) that is NaN or infinite, also once it is a float32."""
    if dense.dtype.kind not in "fiu":
        raise CtrError(f"dense features are numbers, and these are {dense.dtype}: convert them to float32")
    with np.errstate(over="ignore"):
        finite = np.isfinite(dense.astype(np.float32, copy=False))
    if finite.all():
        return
    row, column = _first(~finite)
    raise CtrError(
        f"dense feature {names[column]!r} is {dense[row, column]} at row {first_row + row:,}, and one makes "
        "all weights NaN: mend the transform (log1p(max(x, 0)) of a count is always finite), or fill the gap"
    )


def check_labels(labels: np.ndarray, first_row: int = 0) -> None:
    """Raises CtrError for the first of (rows,) labels that is neither 0 nor 1."""
    wrong = ~((labels == 0) | (labels == 1))
    if wrong.any():
        row = int(wrong.argmax())
        raise CtrError(
            f"the label at row {first_row + row:,} is {labels[row]}, and a label is 0 (no click) or 1 (click)"
        )


def check_times(times: np.ndarray, first_row: int = 0, before: int | None = None) -> None:
    """Raises CtrError for the first of (rows,) times that is earlier than the one before it; `before` is the last time
    before these."""
    if times.dtype.kind not in "iu":
        raise CtrError(f"times are whole seconds, and these are {times.dtype}: convert them to int64")
    if len(times) == 0:
        return
    earlier = np.concatenate([times[:1] if before is None else [before], times[:-1]])
    back = times < earlier
    if back.any():
        row = int(back.argmax())
        raise CtrError(
            f"time {times[row]} at row {first_row + row:,} comes after {earlier[row]}: sort the log by time, so that "
            "no split looks ahead"
        )


def _first(wrong: np.ndarray) -> tuple[int, int]:
    row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return int(row), int(column)
