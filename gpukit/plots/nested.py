"""Boxes in boxes: what contains what (a grid its blocks, a GPU its multiprocessors)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpukit.errors import GpukitError
from gpukit.plots import board, style
from gpukit.plots.style import AMBER, BLUE, GREEN, PALE, PAPER, SKY

Box = Mapping[str, Any]
FILLS = {"paper": (PAPER, ""), "pale": (PALE, ""), "blue": (BLUE, ""), "sky": (SKY, ""), "amber": (AMBER, "")}
FILLS |= {"green": (GREEN, ""), "hatched": (PAPER, "///")}
KEYS = {"name", "note", "boxes", "columns", "fill", "wide", "high"}
MARGIN, PAD = 0.08, 0.1
LEAST = 0.3  # inches, width of an empty box


@dataclass(frozen=True)
class _Placed:
    box: Box
    corner: board.Point
    size: board.Point
    lines: list[str]


def draw(boxes: Box | Sequence[Box], path: str | Path, **options: Any) -> None:
    """Write the figure to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(boxes, **options), path)


def figure_of(
    boxes: Box | Sequence[Box], *, columns: int = 0, height: float = 3.4, caption: str = "", title: str = ""
) -> Figure:
    """Boxes in boxes, each with its words on top, or in its middle where it contains none.

    Args:
        boxes: one or several of {"name": words, "note": more words below, "boxes": [what is inside], "columns": of
            these (default: all beside each other), "fill": "paper", "pale", "blue", "sky", "amber", "green" or
            "hatched", "wide", "high": shares of the room relative to others of its row or column (default 1)}.
        columns: of the outermost boxes (default: all beside each other).
        height: inches of the boxes; on a slide what it gives.
        caption: below the figure; not on a slide.
        title: instead of the name of the outermost box.

    Raises:
        GpukitError: words have no room, or a description has a key or a fill that is unknown.
    """
    outer = [boxes] if isinstance(boxes, Mapping) else list(boxes)
    if not outer:
        raise GpukitError("the nested boxes need at least one box")
    if board.room() is not None:
        height = min(board.room() or height, height)
    placed: list[_Placed] = []
    _arrange(outer, columns, (0.05, 0.05), (board.width() - 0.1, height - 0.1), placed)
    sheet, axis = board.board(
        title or str(outer[0].get("name") or "What contains what"), height, caption=caption, what="the nested boxes"
    )
    for one in placed:
        _box(axis, one)
    return sheet


def _arrange(boxes: Sequence[Box], columns: int, corner: board.Point, size: board.Point, placed: list[_Placed]) -> None:
    """Place boxes in a room, row by row, and what they contain."""
    for box in boxes:
        unknown = set(box) - KEYS
        if unknown or box.get("fill", "paper") not in FILLS:
            raise GpukitError(
                f"a nested box has {', '.join(sorted(KEYS))} and a fill of {', '.join(FILLS)}; got {dict(box)}"
            )
    columns = min(columns or len(boxes), len(boxes))
    rows = [boxes[first : first + columns] for first in range(0, len(boxes), columns)]
    highs = [max(float(box.get("high", 1)) for box in row) for row in rows]
    room = size[1] - MARGIN * (len(rows) - 1)
    y = corner[1]
    for row, high in zip(rows, highs, strict=True):
        down = room * high / sum(highs)
        # A last row that is shorter keeps the columns of the others.
        wides = [float(box.get("wide", 1)) for box in row] + [1.0] * (columns - len(row))
        across = size[0] - MARGIN * (columns - 1)
        x = corner[0]
        for box, wide in zip(row, wides, strict=False):
            own = across * wide / sum(wides)
            _place(box, (x, y), (own, down), placed)
            x += own + MARGIN
        y += down + MARGIN


def _place(box: Box, corner: board.Point, size: board.Point, placed: list[_Placed]) -> None:
    inches = size[0] - PAD
    name, note = str(box.get("name") or ""), str(box.get("note") or "")
    lines = [*_wrapped(name, inches, bool(note)), *_wrapped(note, inches)]
    inside = list(box.get("boxes") or [])
    needed = board.LINE * len(lines) + (0.12 if lines and inside else 0)
    too_wide = [line for line in lines if board.text_width(line, line == name) > inches + 0.06]
    if too_wide or needed > size[1] + 0.02 or size[0] < LEAST / 3 or size[1] < LEAST / 3:
        raise GpukitError(
            f"a nested box of {size[0]:.1f} times {size[1]:.1f} inches has no room for '{name or 'nothing'}"
            f"{': ' + note if note else ''}'; shorten it, show fewer boxes, or give it more with wide or high"
        )
    placed.append(_Placed(box, corner, size, lines))
    if inside:
        left = (corner[0] + PAD, corner[1] + max(needed, PAD))
        room = (size[0] - 2 * PAD, size[1] - max(needed, PAD) - PAD)
        if room[1] < LEAST / 3:
            raise GpukitError(
                f"what is inside of the nested box '{name}' has no room; show less, or give it more height"
            )
        _arrange(inside, int(box.get("columns") or 0), left, room, placed)


def _wrapped(text: str, inches: float, bold: bool = False) -> list[str]:
    return board.wrapped(text, max(inches, 0.01), bold).splitlines()


def _box(axis: Axes, one: _Placed) -> None:
    fill, hatch = FILLS[str(one.box.get("fill") or "paper")]
    board.cell(axis, one.corner, one.size, fill, hatch=hatch, line=1.2)
    names = len(_wrapped(str(one.box.get("name") or ""), one.size[0] - PAD, bool(one.box.get("note"))))
    if one.box.get("boxes"):
        x, y, at = one.corner[0] + PAD, one.corner[1] + 0.06 + board.LINE / 2, "left"
    else:
        middle = one.corner[1] + one.size[1] / 2
        x, y, at = one.corner[0] + one.size[0] / 2, middle - board.LINE * (len(one.lines) - 1) / 2, "center"
    for place, line in enumerate(one.lines):
        look: dict[str, Any] = {"fontweight": "bold" if place < names and len(one.lines) > names else "normal"}
        if hatch:
            look["bbox"] = {"facecolor": fill, "edgecolor": "none", "pad": 1.5}
        board.words(axis, x, y + board.LINE * place, line, at=at, colour=style.ink_on(fill), **look)
