"""A tree of additions: who adds what in each step of a reduction or a scan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from gpukit.errors import GpukitError
from gpukit.plots import board, style
from gpukit.plots.style import BLUE, PALE, PAPER

Pair = tuple[int, int]  # (element that is added to, element that is added)
MAX_ELEMENTS, MAX_STEPS = 32, 6
CELL = 0.26
GAP = 0.34  # between the cells of two steps
HEADING = 0.28


def draw(steps: Sequence[Sequence[Pair]], path: str | Path, **options: Any) -> None:
    """Write the tree to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(steps, **options), path)


def figure_of(
    steps: Sequence[Sequence[Pair]],
    *,
    n: int,
    values: Sequence[float] | None = None,
    labels: Sequence[str] = (),
    combine: Callable[[Any, Any], Any] = lambda a, b: a + b,
    in_place: bool = False,
    name: str = "element",
    caption: str = "",
    title: str = "",
) -> Figure:
    """A row of elements for each step: blue those that add, with an arrow from what they add.

    Args:
        steps: of each step the pairs (to, from); all of a step read what the step before left.
        n: elements.
        values: what stands in the elements at first (default: their numbers are shown, and no values).
        labels: words at the left of each step (default: "step 1", ...).
        combine: what is done with two values.
        in_place: elements that no later step reads stay white, not grey, for they still hold a value.
        name: of a number on the top row: "element", "lane", "thread".
        caption: below the figure; not on a slide.
        title: instead of the one that counts steps and additions.

    Raises:
        GpukitError: there are too many elements or steps, or a pair is beyond them; or a slide has no room.
    """
    if not 2 <= n <= MAX_ELEMENTS or not 1 <= len(steps) <= MAX_STEPS:
        raise GpukitError(f"a tree has 2 to {MAX_ELEMENTS} elements and 1 to {MAX_STEPS} steps; got {n}, {len(steps)}")
    for number, pairs in enumerate(steps, 1):
        wrong = [pair for pair in pairs if not all(0 <= place < n for place in pair)]
        if wrong:
            raise GpukitError(f"step {number} of the tree has the pair {tuple(wrong[0])}; elements are 0 to {n - 1}")
    if values is not None and len(values) != n:
        raise GpukitError(f"the tree has {n} elements and {len(values)} values")
    names = ["start", *(labels or [f"step {number}" for number in range(1, len(steps) + 1)])]
    told = ["", *(f"{len(pairs)} add" for pairs in steps)]
    left = 0.2 + max(map(board.text_width, [*names, name]))
    right = 0.2 + max(map(board.text_width, told))
    gap = GAP
    most = board.room()
    if most is not None and len(steps) > 0:
        gap = max(0.16, min(GAP, (most - HEADING - 0.1 - CELL * (len(steps) + 1)) / len(steps)))
    height = HEADING + 0.1 + CELL * (len(steps) + 1) + gap * len(steps)
    sheet, axis = board.board(title or _title(steps, n), height, caption=caption, what="the tree")
    pitch = min((board.width() - left - right) / n, 0.8)
    size = (0.9 * pitch, CELL)
    middle = [left + pitch * (place + 0.45) for place in range(n)]
    every = next(step for step in (1, 2, 4, 8) if board.text_width(str(n)) + 0.04 < pitch * step or step == 8)
    board.words(axis, 0.08, 0.14, name)
    for place in range(0, n, every):
        board.words(axis, middle[place], 0.14, str(place), at="center")
    held = list(values) if values is not None else None
    read_later = _read_later(steps, n)
    for number in range(len(steps) + 1):
        y = HEADING + number * (CELL + gap)
        pairs = steps[number - 1] if number else []
        if held is not None and number:
            before = list(held)
            for to, source in pairs:
                held[to] = combine(held[to], before[source])
        for to, source in pairs:
            upper = y - gap
            board.arrow(axis, (middle[source], upper + 0.01), (middle[to], y - 0.01))
            if source != to:
                axis.plot([middle[to]] * 2, [upper, y], color=BLUE, linewidth=2.5 * style.scale(), zorder=0.5)
        adding = {to for to, _ in pairs}
        for place in range(n):
            fill = BLUE if place in adding else PAPER if in_place or place in read_later[number] else PALE
            text = "" if held is None else f"{held[place]:g}"
            board.cell(axis, (middle[place] - size[0] / 2, y), size, fill, text)
        board.words(axis, 0.08, y + CELL / 2, names[number])
        board.words(axis, left + pitch * n + 0.1, y + CELL / 2, told[number])
    return sheet


def halving(n: int) -> list[list[Pair]]:
    """Steps of a sum in which the distance halves: element i adds element i + distance (sequential addressing)."""
    return [[(i, i + distance) for i in range(distance)] for distance in _distances(n)[::-1]]


def doubling(n: int) -> list[list[Pair]]:
    """Steps of a sum in which the distance doubles: element i, a multiple of twice the distance, adds element
    i + distance (interleaved addressing)."""
    return [[(i, i + distance) for i in range(0, n, 2 * distance)] for distance in _distances(n)]


def shuffle_down(n: int) -> list[list[Pair]]:
    """Steps of a warp's sum by shuffle down: every lane adds the lane `distance` above it, where there is one."""
    return [[(i, i + distance) for i in range(n - distance)] for distance in _distances(n)[::-1]]


def butterfly(n: int) -> list[list[Pair]]:
    """Steps of a warp's sum by shuffle xor: all lanes end with the sum."""
    return [[(i, i ^ distance) for i in range(n)] for distance in _distances(n)[::-1]]


def scan(n: int) -> list[list[Pair]]:
    """Steps of an inclusive scan by shuffle up: lane i adds lane i - distance."""
    return [[(i, i - distance) for i in range(distance, n)] for distance in _distances(n)]


def _distances(n: int) -> list[int]:
    """1, 2, 4, ... below n. Raises GpukitError where n is no power of two."""
    if n < 2 or n & (n - 1):
        raise GpukitError(f"these steps are for a power of two of elements; got {n}")
    return [1 << step for step in range(n.bit_length() - 1)]


def _read_later(steps: Sequence[Sequence[Pair]], n: int) -> list[set[int]]:
    """Of each row the elements that a later step still reads; of the last row those that were added to last."""
    found: list[set[int]] = [set() for _ in range(len(steps) + 1)]
    found[-1] = {to for to, _ in steps[-1]}
    for number in range(len(steps) - 1, -1, -1):
        found[number] = found[number + 1] | {place for pair in steps[number] for place in pair}
    return found


def _title(steps: Sequence[Sequence[Pair]], n: int) -> str:
    return f"{sum(map(len, steps))} additions in {len(steps)} steps for {n} elements"
