"""Padding: what the formats of a sparse matrix store beside its elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpukit.errors import GpukitError
from gpukit.plots import board, style
from gpukit.plots.style import AMBER, BLUE, INK

FORMATS = {"csr": "CSR", "ell": "ELL", "sliced": "sliced ELL", "permuted": "permuted sliced ELL"}
LEAST_SLOT = 0.05  # inches from which slots are drawn apart
MAX_ROWS = 64
GAP = 0.25
KEY = 0.35


@dataclass(frozen=True)
class Layout:
    """Rows of a format in the order in which they are stored: `rows` are their numbers in the matrix, `widths` the
    slots that each has, and a slice ends behind each of `ends`."""

    rows: tuple[int, ...]
    widths: tuple[int, ...]
    ends: tuple[int, ...] = ()


def draw(lengths: Sequence[int], path: str | Path, **options: Any) -> None:
    """Write the figure to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(lengths, **options), path)


def figure_of(
    lengths: Sequence[int],
    *,
    formats: Sequence[str] = tuple(FORMATS),
    slices: int | Sequence[int] = 4,
    title: str = "",
) -> Figure:
    """Rows (downwards) and their slots: used, padded, and where slices end; a panel for each format.

    Args:
        lengths: elements of each row of the matrix.
        formats: of "csr", "ell", "sliced" and "permuted", as wanted.
        slices: rows of every slice, or a list with the rows of each.
        title: instead of the one that says how much padding is saved.

    Raises:
        GpukitError: there are no rows or too many, a length is negative, a format is unknown, or slices do not add up.
    """
    lengths = [int(length) for length in lengths]
    if not 1 <= len(lengths) <= MAX_ROWS or min(lengths) < 0 or not any(lengths):
        raise GpukitError(f"the padding picture draws 1 to {MAX_ROWS} rows of 0 or more elements; got {list(lengths)}")
    if not formats or not set(formats) <= set(FORMATS):
        raise GpukitError(f"the padding picture knows the formats {', '.join(FORMATS)}; got {', '.join(formats)}")
    layouts = {name: layout(lengths, name, slices) for name in formats}
    inches = (board.width() - GAP * (len(layouts) - 1) - 0.1) / len(layouts)
    top = (
        board.LINE * (1 + max(len(board.wrapped(FORMATS[name], inches, bold=True).splitlines()) for name in layouts))
        + 0.1
    )
    frame = top + KEY
    most = board.room()
    row = 0.22 if most is None else min(0.22, (most - frame) / len(lengths))
    sheet, axis = board.board(title or _title(lengths, layouts), frame + row * len(lengths), what="the padding picture")
    for place, (name, found) in enumerate(layouts.items()):
        _panel(axis, (0.05 + place * (inches + GAP), top), inches, row, FORMATS[name], found, lengths)
    items = [(BLUE, "", "element"), (AMBER, board.HATCH, "padding")]
    board.key(axis, frame + row * len(lengths) - 0.14, items)
    if any(found.ends for found in layouts.values()):
        board.words(axis, 3.0, frame + row * len(lengths) - 0.14, "thick line: a slice ends")
    return sheet


def layout(lengths: Sequence[int], form: str, slices: int | Sequence[int] = 4) -> Layout:
    """How a format stores rows of these lengths: CSR without padding, ELL as wide as the longest row, sliced ELL each
    slice as wide as its longest, permuted with the rows sorted by length before."""
    n = len(lengths)
    order = sorted(range(n), key=lambda row: lengths[row]) if form == "permuted" else list(range(n))
    sorted_lengths = [lengths[row] for row in order]
    if form == "csr":
        return Layout(tuple(order), tuple(sorted_lengths))
    if form == "ell":
        return Layout(tuple(order), (max(lengths),) * n)
    sizes = [min(slices, n - first) for first in range(0, n, slices)] if isinstance(slices, int) else list(slices)
    if sum(sizes) != n or min(sizes) < 1:
        raise GpukitError(f"slices of {', '.join(map(str, sizes))} rows do not make {n} rows")
    widths: list[int] = []
    ends: list[int] = []
    for size in sizes:
        first = len(widths)
        widths += [max(sorted_lengths[first : first + size])] * size
        ends.append(first + size)
    return Layout(tuple(order), tuple(widths), tuple(ends))


def padding(lengths: Sequence[int], found: Layout) -> float:
    """The share of the slots of a format that hold no element."""
    slots = sum(found.widths)
    return 1 - sum(lengths) / slots if slots else 0.0


def _panel(
    axis: Axes, corner: board.Point, inches: float, row: float, name: str, found: Layout, lengths: Sequence[int]
) -> None:
    x, top = corner
    heading = board.wrapped(name, inches, bold=True).splitlines()
    for line, text in enumerate(heading):
        board.words(axis, x, 0.12 + board.LINE * line, text, fontweight="bold")
    numbers = f"{sum(found.widths):,} slots, {style.percent(padding(lengths, found))} padding"
    if board.text_width(numbers) > inches:
        numbers = f"{sum(found.widths):,} slots, {padding(lengths, found):.0%}"
    board.words(axis, x, 0.12 + board.LINE * len(heading), numbers)
    indent = board.text_width(str(max(found.rows))) + 0.06
    slot = min((inches - indent) / max(lengths), 0.25)
    every = max(1, -int(-board.LINE // row))  # rows whose number has room
    for place, (number, width) in enumerate(zip(found.rows, found.widths, strict=True)):
        y, left = top + place * row, x + indent
        if place % every == 0:
            board.words(axis, left - 0.06, y + row / 2, str(number), at="right")
        used = lengths[number]
        parts = ((BLUE, "", left, used), (AMBER, board.HATCH, left + used * slot, width - used))
        for fill, hatch, start, count in parts:
            apart = slot >= LEAST_SLOT
            for part in range(count if apart else min(count, 1)):
                size = (slot if apart else slot * count, 0.86 * row)
                board.cell(axis, (start + part * slot, y + 0.07 * row), size, fill, hatch=hatch, line=0.5)
    for end in found.ends:
        y, length = top + end * row, indent + slot * max(found.widths)
        axis.plot([x, x + length], [y, y], color=INK, linewidth=1.5 * style.scale(), solid_capstyle="butt")


def _title(lengths: Sequence[int], layouts: dict[str, Layout]) -> str:
    padded = {name: padding(lengths, found) for name, found in layouts.items() if name != "csr"}
    if len(padded) < 2:
        name = next(iter(layouts))
        return f"{FORMATS[name]} pads {style.percent(padding(lengths, layouts[name]))} of its slots"
    best, worst = min(padded, key=lambda name: padded[name]), max(padded, key=lambda name: padded[name])
    return (
        f"{FORMATS[worst]} pads {style.percent(padded[worst])} of its slots, "
        f"{FORMATS[best]} {style.percent(padded[best])}"
    )
