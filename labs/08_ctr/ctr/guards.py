"""What goes wrong without an error: each check raises CtrError with a sentence, or says nothing.

They work on NumPy arrays, or on what becomes one, on the host: on a GPU an id out of range is an assertion at some
later line. `first_row` is the place of the first row in its log.

Source: the mistakes are those of the reports listed in tests/cases/host/.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import CtrError
from .schema import UNKNOWN, Schema

SHOWN = 3  # cells that a sentence names


def as_numbers(values: Any, what: str) -> np.ndarray:
    """`values` as an array. Raises CtrError for what is no array of numbers; `what` names it."""
    try:
        found = np.asarray(values)
    except ValueError as error:
        raise CtrError(f"{what} must be one array, and not rows of several lengths") from error
    if found.dtype.kind not in "biuf":
        raise CtrError(f"{what} must be numbers, and not {found.dtype}")
    return found


# --- what goes in ----------------------------------------------------------------------------------------------------


def check_ids(ids: Any, schema: Schema, first_row: int = 0) -> None:
    """(n, fields) integers, each from 0 to below the rows of its field."""
    ids = as_numbers(ids, "ids")
    if ids.dtype.kind not in "iu":
        raise CtrError(
            f"ids are {ids.dtype}, and must be integers: float32 holds none above 16,777,216 exactly, so that ids "
            "become those of others"
        )
    if ids.ndim != 2 or ids.shape[1] != len(schema.fields):
        raise CtrError(f"ids have the shape {ids.shape}, where (rows, {len(schema.fields)}) belongs")
    rows = np.array([field.rows for field in schema.fields])
    if len(ids) == 0 or (ids.min() >= 0 and np.all(ids.max(0) < rows)):
        return
    wrong = (ids < 0) | (ids >= rows)
    row, column = (int(place) for place in np.argwhere(wrong)[0])
    field = schema.fields[column]
    raise CtrError(
        f"id {ids[row, column]} of field {field.name!r} at row {first_row + row:,} is outside 0 to {field.rows - 1}: "
        f"{_wrong_of(wrong)}; give {UNKNOWN}, the unknown id, to whatever training has not seen"
    )


def check_dense(dense: Any, names: Sequence[str], first_row: int = 0) -> None:
    """(n, numbers) floats without infinity and NaN."""
    dense = as_numbers(dense, "dense features")
    if dense.ndim != 2 or dense.shape[1] != len(names):
        raise CtrError(f"dense features have the shape {dense.shape}, where (rows, {len(names)}) belongs")
    wrong = ~np.isfinite(dense)
    if not wrong.any():
        return
    cells = np.argwhere(wrong)
    shown = ", ".join(
        f"row {first_row + row:,} of {names[column]!r} is {dense[row, column]}" for row, column in cells[:SHOWN]
    )
    more = f" and {len(cells) - SHOWN:,} more" if len(cells) > SHOWN else ""
    raise CtrError(
        f"dense features must be finite, and {shown}{more}: look for a logarithm of 0 or less, a division by 0 or a "
        "missing value in what makes this column (one is enough to make all weights NaN, and no learning rate helps)"
    )


def check_labels(labels: Any, first_row: int = 0) -> None:
    """(n,) of 0 and 1 alone."""
    labels = as_numbers(labels, "labels")
    if labels.ndim != 1:
        raise CtrError(f"labels have the shape {labels.shape}, where (rows,) belongs: one number a row, no second axis")
    wrong = (labels != 0) & (labels != 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise CtrError(
            f"the label at row {first_row + row:,} is {labels[row]:g}, and must be 1 for a click or 0: "
            f"{_wrong_of(wrong)}; a rating needs a threshold, and -1 for no click becomes 0"
        )


def check_times(times: np.ndarray, first_row: int = 0, before: int | None = None) -> None:
    """(rows,) integers, none less than the one before it; `before` is the last time before these."""
    if times.dtype.kind not in "iu":
        raise CtrError(f"times are {times.dtype}, and must be integers, of seconds: convert them to int64")
    earlier = np.concatenate([times[:1] if before is None else [before], times[:-1]])
    back = times < earlier
    if back.any():
        row = int(back.argmax())
        raise CtrError(
            f"time {times[row]} at row {first_row + row:,} comes after {earlier[row]}: sort the log by time, so that "
            "no split looks ahead"
        )


def _wrong_of(wrong: np.ndarray) -> str:
    count = int(np.count_nonzero(wrong))
    return f"{count:,} of {wrong.size:,} values are wrong" if count > 1 else "no other is"


# --- what comes out --------------------------------------------------------------------------------------------------


def check_loss_shape(loss: Any, labels: Any) -> None:
    """Losses before their mean, or logits: as many as there are labels. Shapes alone are read, so a step may ask."""
    shape, wanted = tuple(loss.shape), tuple(labels.shape)
    if shape == wanted:
        return
    if math.prod(shape) == math.prod(wanted):
        raise CtrError(
            f"logits of shape {shape} against labels of shape {wanted} broadcast to a loss of every row against every "
            "label, which learns the click rate and nothing else: squeeze the logits to one axis"
        )
    raise CtrError(
        f"the loss has {math.prod(shape):,} elements {shape} for {math.prod(wanted):,} labels {wanted}: every row "
        "met every label, and the model learns the click rate and nothing else; squeeze the logits to one axis"
    )


def check_loss(loss: float, step: int) -> None:
    """The mean loss up to a step."""
    if not math.isfinite(loss):
        raise CtrError(
            f"the loss is {loss} at step {step:,}, and no weight recovers from that: go on from the last checkpoint "
            "with a smaller learning rate"
        )


def check_spread(scores: Any) -> None:
    """Scores of rows that differ, logits or probabilities: not all the same."""
    scores = np.asarray(scores, np.float64)
    if len(scores) > 1 and scores.std() <= 1e-6:
        raise CtrError(
            f"all {len(scores):,} rows get the score {scores[0]:.4g}: the model ignores its features; look at the "
            "shape of the loss, and at the units that are never active"
        )


def check_probabilities(p: Any, what: str = "probability") -> None:
    """(n,) numbers from 0 to 1."""
    p = as_numbers(p, "probabilities").astype(np.float64)
    if p.ndim != 1:
        raise CtrError(f"probabilities have the shape {p.shape}, where (rows,) belongs")
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise CtrError(f"{p[row]:.4g} at row {row:,} is no {what}: apply the sigmoid to logits, once")


TWICE = 1 / (1 + math.exp(-1))  # 0.731: no sigmoid of a probability is larger, and none is below one half


def check_not_squeezed(p: Any, labels: Any) -> None:
    """Probabilities that are not the sigmoid of probabilities, as far as their labels show it.

    A click rate between 0.5 and 0.731 is no sign by itself; that its lower or its upper half is not where the
    probabilities say (by four standard errors) is one.
    """
    p, labels = (as_numbers(one, what).astype(np.float64) for one, what in ((p, "probabilities"), (labels, "labels")))
    check_loss_shape(p, labels)
    if len(p) == 0 or p.min() < 0.5 or p.max() > TWICE + 1e-6:
        return
    order = np.argsort(p, kind="stable")
    halves = (order[: len(p) // 2], order[len(p) // 2 :])
    far = any(len(half) and abs(labels[half].mean() - p[half].mean()) > 2 / math.sqrt(len(half)) for half in halves)
    if far or not 0.5 < labels.mean() < TWICE:
        raise CtrError(
            f"no probability is below one half or above {TWICE:.3f} ({p.min():.3f} to {p.max():.3f}), and "
            f"{labels.mean():.3f} of the rows are clicks: the network ends in a sigmoid and its logits get a second "
            "one; return logits (AUC does not show this, calibration does)"
        )


# --- clocks ----------------------------------------------------------------------------------------------------------


def check_clock(work: Sequence[float], seconds: Sequence[float]) -> None:
    """Times of two or more amounts of the same work (rows, steps, bytes) grow by a tenth of what the work does, or
    more: else the clock saw launches, or what was in the queue before them."""
    if len(work) != len(seconds) or len(work) < 2 or min(*work, *seconds) <= 0:
        raise CtrError(
            f"a clock is checked with two or more amounts of work and a time for each, all above 0: not with "
            f"{list(work)} and {list(seconds)}"
        )
    low, high = int(np.argmin(work)), int(np.argmax(work))
    more, longer = work[high] / work[low], seconds[high] / seconds[low]
    if more <= 1 or longer >= 1 + 0.1 * (more - 1):
        return
    times = f"{_time(seconds[low])} and {_time(seconds[high])}"
    if longer < 1.1:
        raise CtrError(
            f"{more:.4g} times the work took the same time ({times}): the clock saw the launch and not the work; "
            "synchronise before it starts and before it stops, or record events"
        )
    raise CtrError(
        f"{more:.4g} times the work took {longer:.2g} times as long ({times}): the clock also saw work that was in the "
        "queue before it; synchronise before it starts and before it stops, or give it more work"
    )


def check_iterations(seconds: Sequence[float]) -> None:
    """Times of equal iterations, in their order: the last tenth does not take twice as long as the first."""
    times = as_numbers(seconds, "times").astype(np.float64)
    if len(times) < 2:
        raise CtrError(f"{len(times)} iterations show no change: time two or more")
    tenth = max(len(times) // 10, 1)
    first, last = float(np.median(times[:tenth])), float(np.median(times[-tenth:]))
    if last <= 2 * first:
        return
    jump = int(np.argmax(times > 2 * first))
    raise CtrError(
        f"iterations take {_time(first)} each, and {_time(last)} from number {jump:,} on: nothing became slower, the "
        "first were only queued, and then each waits for a place in the full queue; time many iterations between two "
        "synchronisations"
    )


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"
