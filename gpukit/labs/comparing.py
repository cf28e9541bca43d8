"""Is an array the expected one, and if not, where does it first differ, and in what pattern?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

WARP = 32
Bound = float | np.ndarray


@dataclass(frozen=True)
class Difference:
    """The first wrong element: its index, () for a single number; `flat` counts in C order."""

    index: tuple[int, ...]
    flat: int
    got: Any
    expected: Any
    bound: float
    wrong: int
    size: int
    pattern: str


def difference(got: Any, expected: Any, bound: Bound = 0.0) -> Difference | str | None:
    """What is wrong with `got`: None if nothing, a sentence if it is no array of that shape and kind of number.

    Right is |got - expected| <= bound in every element; NaN and infinity are right only where they are expected.
    """
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        return f"the shape is {got.shape}, expected {expected.shape}"
    if got.dtype.kind not in "biufc":
        return f"these are no numbers: {got!r}"[:200]
    wide = np.result_type(got, expected, np.float64)
    a, b = got.astype(wide), expected.astype(wide)
    with np.errstate(invalid="ignore"):
        right = (np.abs(a - b) <= bound) | (a == b) | (np.isnan(a) & np.isnan(b))
    if got.dtype.kind in "iu" and expected.dtype.kind in "iu":
        right &= np.abs(got.astype(object) - expected.astype(object)) <= bound if not np.any(bound) else right
    wrong = ~right
    if not wrong.any():
        return None
    places = np.flatnonzero(wrong)
    flat = int(places[0])
    index = tuple(int(i) for i in np.unravel_index(flat, got.shape)) if got.shape else ()
    allowed = float(np.broadcast_to(bound, got.shape)[index]) if got.shape else float(np.max(bound))
    values = got[index].item(), expected[index].item()
    return Difference(index, flat, *values, allowed, len(places), got.size, pattern(places, got.size))


def nested_difference(got: Any, expected: Any, bound: Bound = 0.0) -> Difference | str | None:
    """The same for what host code returns: numbers and arrays, or lists and tuples of them, text, True and None."""
    if isinstance(expected, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(expected):
            return f"expected {len(expected)} values"
        parts = (nested_difference(g, e, bound) for g, e in zip(got, expected, strict=True))
        return next(
            (part if isinstance(part, str) else f"value {i} differs" for i, part in enumerate(parts, 1) if part), None
        )
    if isinstance(expected, str | bool) or expected is None:
        return None if type(got) is type(expected) and got == expected else "that is another answer"
    if got is None or isinstance(got, str | bool | tuple | list | dict):
        return f"expected {'an array' if isinstance(expected, np.ndarray) else 'a number'}"
    return difference(got, expected, bound)


def pattern(places: np.ndarray, size: int) -> str:
    """In what pattern the wrong elements lie (flat places of `size`), where it says something about a kernel."""
    n = len(places)
    if size == 1:
        return ""
    if n == size:
        return "all of them"
    first, last = int(places[0]), int(places[-1])
    if n == 1:
        return "the last one alone" if first == size - 1 else "the first one alone" if first == 0 else "this one alone"
    if last - first + 1 == n:
        if last == size - 1:
            return f"all from {first:,} to the end"
        return f"all from {first:,} to {last:,}"
    steps = np.unique(np.diff(places))
    if len(steps) == 1:
        return f"every {int(steps[0]):,}th from {first:,} on"
    lanes = np.unique(places % WARP)
    if len(lanes) == 1 and n > 2:
        return f"lane {int(lanes[0])} of warps"
    return f"between {first:,} and {last:,}"
