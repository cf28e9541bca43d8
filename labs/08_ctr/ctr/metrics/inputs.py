"""What every metric asks of its labels and predictions, said in one place."""

from __future__ import annotations

import numpy as np

from ..errors import CtrError
from ..guards import as_numbers, check_labels, check_probabilities


def labels_of(labels: np.ndarray) -> np.ndarray:
    """(rows,) float64 of 0 and 1. Raises CtrError for no rows, another shape, or another value."""
    check_labels(labels)
    return _some(np.asarray(labels, np.float64))


def scores_of(scores: np.ndarray, rows: int, what: str = "score") -> np.ndarray:
    """(rows,) float64, finite. Raises CtrError for no rows, another shape, NaN or infinity."""
    found = as_numbers(scores, "predictions").astype(np.float64)
    if found.shape != (rows,):
        hint = ": a column of (rows, 1) needs .reshape(-1)" if found.shape == (rows, 1) else ": give one a row"
        raise CtrError(f"one {what} a row is needed, not numbers of shape {found.shape} for {rows:,} rows{hint}")
    wrong = np.flatnonzero(~np.isfinite(found))
    if wrong.size:
        row = int(wrong[0])
        raise CtrError(f"the {what} at row {row:,} is {found[row]}: look for the first NaN or infinity before it")
    return _some(found)


def probabilities_of(p: np.ndarray, rows: int, what: str = "probability") -> np.ndarray:
    """(rows,) float64 from 0 to 1. Raises CtrError for no rows, another shape or another value."""
    found = scores_of(p, rows, what)
    check_probabilities(found, what)
    return found


def _some(found: np.ndarray) -> np.ndarray:
    if not found.size:
        raise CtrError("there are no rows to evaluate: give a part of the log that has some")
    return found


def groups_of(groups: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The ids that occur, ascending, and for each row the place of its id among them."""
    found = as_numbers(groups, "ids")
    if found.shape != (rows,):
        raise CtrError(f"ids of shape {found.shape} for {rows:,} rows: give one a row")
    return np.unique(found, return_inverse=True)


def both_classes(labels: np.ndarray, what: str) -> None:
    """Raises CtrError where all labels are the same, and `what` is not defined."""
    if labels.min() == labels.max():
        raise CtrError(
            f"all {labels.size:,} labels are {labels[0]:g}: {what} needs clicks and rows without one; "
            "evaluate more rows at once"
        )
