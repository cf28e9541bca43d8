"""Grids of cells side by side: a tile of a matrix, what a warp touches in it, and the banks that this asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpukit.errors import GpukitError
from gpukit.plots import board, style
from gpukit.plots.style import AMBER, BLUE, GREEN, PALE, PAPER, SKY, VERMILION

FILLS = {
    "": (PAPER, ""),
    "touched": (BLUE, ""),
    "other": (SKY, ""),
    "conflict": (VERMILION, ""),
    "padding": (PALE, "///"),
    "good": (GREEN, ""),
    "moved": (AMBER, "///"),
}
MAX_CELLS = 34
GAP, ARROW = 0.3, 0.55


def draw(panels: Sequence[Mapping[str, Any]], path: str | Path, **options: Any) -> None:
    """Write the grids to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(panels, **options), path)


def figure_of(
    panels: Sequence[Mapping[str, Any]], *, key: Mapping[str, str] | None = None, caption: str = "", title: str = ""
) -> Figure:
    """Grids beside each other, each under its name and above its note.

    Args:
        panels: each with "name", "cells": rows of short texts, and, where wanted, "fills": rows of as many of "",
            "touched", "other", "conflict", "padding", "good" and "moved", "note": words below, "then": words on an
            arrow to the next panel. `banks` gives such panels.
        key: words for the fills that are used, as a legend below.
        caption: below the figure; not on a slide.
        title: instead of the names of the panels.

    Raises:
        GpukitError: something is missing, rows differ in length, a fill is unknown, or a slide has no room.
    """
    found = style.need(panels, ("name", "cells"), "the grids")
    for panel in found:
        _checked(panel)
    unknown = set(key or {}) - set(FILLS)
    if unknown:
        raise GpukitError(f"the grids have the fills {', '.join(filter(None, FILLS))}; not {', '.join(unknown)}")
    longest = [max(map(board.text_width, str(panel.get("then") or "").split()), default=0.0) for panel in found[:-1]]
    gaps = [max(ARROW, words + 0.2) if words else GAP for words in longest]
    columns = sum(len(panel["cells"][0]) for panel in found)
    rows = max(len(panel["cells"]) for panel in found)
    across = board.width() - 0.2 - sum(gaps)
    most = board.room()
    down = (most or 4.4) - (0.3 if key else 0)
    cell = min(across / columns, 0.42)
    for _ in range(3):  # how many lines words take depends on how wide cells are, and that on the lines
        inches = [max(cell * len(panel["cells"][0]), across / len(found) * 0.98) for panel in found]
        names = [
            board.wrapped(str(panel["name"]), wide, bold=True).splitlines()
            for panel, wide in zip(found, inches, strict=True)
        ]
        notes = [
            board.wrapped(str(panel.get("note") or ""), wide).splitlines()
            for panel, wide in zip(found, inches, strict=True)
        ]
        top, below = (board.LINE * max(map(len, texts)) for texts in (names, notes))
        cell = min(cell, (down - top - below - 0.3) / rows)
    if cell < 0.05:
        raise GpukitError("the grids have no room: their cells would be too small to see; draw fewer")
    height = top + 0.12 + cell * rows + below + (0.14 if below else 0.06) + (0.3 if key else 0)
    heading = title or " and ".join(str(panel["name"]) for panel in found)
    sheet, axis = board.board(heading, height, caption=caption, what="the picture of the grids")
    x = 0.1
    slack = max(0.0, across - cell * columns) / len(found)
    for place, panel in enumerate(found):
        wide = cell * len(panel["cells"][0])
        _panel(axis, panel, (x, top + 0.12), cell, names[place], notes[place])
        if place < len(gaps):
            end = x + wide + slack
            if panel.get("then"):
                middle = top + 0.12 + cell * len(panel["cells"]) / 2
                board.arrow(axis, (x + wide + 0.08, middle), (end + gaps[place] - 0.08, middle), line=2.0)
                space = slack + gaps[place] - 0.1
                lines = board.wrapped(str(panel["then"]), space).splitlines()
                for line, text in enumerate(lines):
                    up = middle - 0.16 - board.LINE * (len(lines) - 1 - line)
                    board.words(axis, x + wide + (slack + gaps[place]) / 2, up, text, at="center")
            x = end + gaps[place]
    if key:
        board.key(axis, height - 0.15, [(*FILLS[fill], text) for fill, text in key.items()])
    return sheet


def banks(
    name: str, *, rows: int = 8, columns: int = 8, padding: int = 0, banks: int = 8, column: int = 0, note: str = ""
) -> dict[str, Any]:
    """A panel: a tile of shared memory, in each cell its bank, and what a warp asks that reads one column of it.
    Cells of the column that share a bank are a conflict."""
    pitch = columns + padding
    cells = [[str((row * pitch + place) % banks) for place in range(pitch)] for row in range(rows)]
    fills = [["padding" if place >= columns else "" for place in range(pitch)] for _ in range(rows)]
    asked = [cells[row][column] for row in range(rows)]
    for row in range(rows):
        fills[row][column] = "conflict" if asked.count(asked[row]) > 1 else "touched"
    worst = max(asked.count(bank) for bank in asked)
    words = f"{worst}-way bank conflict: {worst} wavefronts" if worst > 1 else "no bank conflict: 1 wavefront"
    return {"name": name, "cells": cells, "fills": fills, "note": note or words}


def _checked(panel: Mapping[str, Any]) -> None:
    cells, fills = panel["cells"], panel.get("fills")
    shapes = {len(row) for row in cells}
    if len(shapes) != 1 or not 1 <= max(shapes) <= MAX_CELLS or not 1 <= len(cells) <= MAX_CELLS:
        raise GpukitError(f"the grid of {panel['name']} needs 1 to {MAX_CELLS} rows of as many cells each")
    if fills is not None and [len(row) for row in fills] != [len(row) for row in cells]:
        raise GpukitError(f"the grid of {panel['name']} has fills of another shape than its cells")
    unknown = {fill for row in fills or [] for fill in row} - set(FILLS)
    if unknown:
        raise GpukitError(f"the grids have the fills {', '.join(filter(None, FILLS))}; not {', '.join(unknown)}")


def _panel(
    axis: Axes, panel: Mapping[str, Any], corner: board.Point, cell: float, name: Sequence[str], note: Sequence[str]
) -> None:
    x, y = corner
    for line, text in enumerate(name):
        board.words(axis, x, y - 0.12 - board.LINE * (len(name) - 1 - line) - 0.02, text, fontweight="bold")
    for row, texts in enumerate(panel["cells"]):
        for place, text in enumerate(texts):
            fill, hatch = FILLS[panel["fills"][row][place] if panel.get("fills") else ""]
            shown = "" if hatch else str(text)
            board.cell(axis, (x + cell * place, y + cell * row), (cell, cell), fill, shown, hatch=hatch)
    bottom = y + cell * len(panel["cells"])
    for line, text in enumerate(note):
        board.words(axis, x, bottom + 0.14 + board.LINE * line, text)
