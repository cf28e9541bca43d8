"""Is an array the expected one, and if not, where does it first differ, and in what pattern?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpukit.machine.lanes import WARP_SIZE

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
        return "these are no numbers, or numbers of more than 64 bits"
    wide = np.result_type(got, expected, np.float64)
    a, b = got.astype(wide), expected.astype(wide)
    with np.errstate(invalid="ignore"):
        right = (np.abs(a - b) <= bound) | (a == b) | (np.isnan(a) & np.isnan(b))
    if not np.any(bound) and got.dtype.kind in "iu" and expected.dtype.kind in "iu":
        right &= got.astype(object) == expected.astype(object)  # float64 has no room for all of 64 bits
    wrong = ~right
    if not wrong.any():
        return None
    places = np.flatnonzero(wrong)
    flat = int(places[0])
    index = tuple(int(i) for i in np.unravel_index(flat, got.shape)) if got.shape else ()
    allowed = float(np.broadcast_to(bound, got.shape)[index]) if got.shape else float(np.max(bound))
    values = got[index].item(), expected[index].item()
    return Difference(index, flat, *values, allowed, len(places), got.size, pattern(places, got.shape))


def nested_difference(got: Any, expected: Any, bound: Bound = 0.0) -> Difference | str | None:
    """The same for what host code returns: numbers and arrays, or lists and tuples of them, text, True and None."""
    got, expected = _plain(got), _plain(expected)
    if isinstance(expected, tuple | list):
        if not isinstance(got, tuple | list):
            return f"expected a {type(expected).__name__} of {len(expected)} values"
        if len(got) != len(expected):
            return f"expected {len(expected)} values, not {len(got)}"
        parts = (nested_difference(g, e, bound) for g, e in zip(got, expected, strict=True))
        return next((_of_value(i, part) for i, part in enumerate(parts) if part is not None), None)
    if isinstance(expected, str | bool) or expected is None:
        return None if type(got) is type(expected) and got == expected else "that is another answer"
    if got is None or isinstance(got, str | bool | tuple | list | dict):
        return f"expected {'an array' if isinstance(expected, np.ndarray) else 'a number'}"
    return difference(got, expected, bound)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _of_value(i: int, part: Difference | str) -> str:
    return f"value {i}: {part}" if isinstance(part, str) else f"value {i} differs (they count from 0)"


def pattern(places: np.ndarray, shape: tuple[int, ...]) -> str:
    """In what pattern the wrong elements lie, where it says something about a kernel. `places`: flat, ascending."""
    n, size = len(places), int(np.prod(shape))
    if size == 1:
        return ""
    if n == size:
        return "all of them"
    if n == 1:
        last, first = int(places[0]) == size - 1, int(places[0]) == 0
        return "the last one alone" if last else "the first one alone" if first else "this one alone"
    return _on_a_line(places, size) if len(shape) == 1 else _in_a_box(places, shape)


def _on_a_line(places: np.ndarray, size: int) -> str:
    n, first, last = len(places), int(places[0]), int(places[-1])
    if last - first + 1 == n:
        return f"all from {first:,} to {'the end' if last == size - 1 else f'{last:,}'}"
    if n == 2:
        return f"{first:,} and {last:,}"
    steps = np.unique(np.diff(places))
    if len(steps) == 1:
        step = int(steps[0])
        until = "on" if last + step >= size else f"to {last:,}"
        return f"every {_ordinal(step)} from {first:,} {until}"
    lanes = np.unique(places % WARP_SIZE)
    if len(lanes) == 1:
        return f"all at places with remainder {int(lanes[0])} modulo {WARP_SIZE}: one lane of each warp?"
    return f"between {first:,} and {last:,}"


def _in_a_box(places: np.ndarray, shape: tuple[int, ...]) -> str:
    """The smallest box around them, as NumPy slices."""
    axes = np.unravel_index(places, shape)
    ends = [(int(axis.min()), int(axis.max()) + 1) for axis in axes]
    filled = len(places) == np.prod([stop - start for start, stop in ends])
    box = ", ".join(
        str(start) if stop == start + 1 else ":" if (start, stop) == (0, size) else f"{start}:{stop}"
        for (start, stop), size in zip(ends, shape, strict=True)
    )
    return f"{'all' if filled else 'some'} of [{box}]"


def _ordinal(n: int) -> str:
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{ending}"
