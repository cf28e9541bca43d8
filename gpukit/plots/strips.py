"""Strips of bytes: how data lie in memory, which of them a warp uses, and which sectors move for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gpukit.errors import GpukitError
from gpukit.plots import board, style
from gpukit.plots.style import AMBER, BLUE, INK, PALE

SECTOR = 32
MAX_SECTORS, MAX_ROWS = 16, 5
CELL, ROW, KEY, TOP = 0.36, 1.0, 0.36, 0.06


def draw(rows: Sequence[Mapping[str, Any]], path: str | Path, **options: Any) -> None:
    """Write the strips to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(rows, **options), path)


def figure_of(rows: Sequence[Mapping[str, Any]], *, caption: str = "", title: str = "") -> Figure:
    """A strip of memory for each layout, a cell for each value: used by the warp, moved beside that, or not moved.
    Thick lines part the 32-byte sectors.

    Args:
        rows: each with "name", "values": what is in memory, in order, a word or a letter each, "bytes": of a value,
            and "used": places of the values that the warp uses. `structures` gives such rows.
        caption: below the figure; not on a slide.
        title: instead of the one that says how much of the moved bytes is used.

    Raises:
        GpukitError: something is missing, there is too much to draw, or a place is beyond the strip.
    """
    found = style.need(rows, ("name", "values", "bytes", "used"), "the strips")
    for row in found:
        if len(row["values"]) * row["bytes"] > SECTOR * MAX_SECTORS or len(found) > MAX_ROWS:
            raise GpukitError(
                f"the strips are at most {MAX_ROWS} of {MAX_SECTORS} sectors of {SECTOR} bytes; draw less"
            )
        if not row["used"] or not all(0 <= place < len(row["values"]) for place in row["used"]):
            raise GpukitError(f"the strip of {row['name']} has values 0 to {len(row['values']) - 1}; used are others")
    most = board.room()
    pitch = ROW if most is None else min(ROW, (most - KEY - TOP) / len(found))
    sheet, axis = board.board(
        title or _title(found), TOP + pitch * len(found) + KEY, caption=caption, what="the picture of the strips"
    )
    longest = max(len(row["values"]) * row["bytes"] for row in found)
    scale = (board.width() - 0.2) / longest
    for place, row in enumerate(found):
        _strip(axis, row, TOP + place * pitch, scale)
    items = [(BLUE, "", "used by the warp"), (AMBER, board.HATCH, "moved, not used"), (PALE, "", "not moved")]
    if not any(len(_moved(row)) * SECTOR > row["bytes"] * len(set(row["used"])) for row in found):
        items.pop(1)
    board.key(axis, TOP + pitch * len(found) + KEY / 2, items)
    last = 0.1 + sum(0.34 + board.text_width(text) + 0.25 for _, _, text in items)
    board.words(axis, last, TOP + pitch * len(found) + KEY / 2, "thick lines: sectors")
    return sheet


def structures(fields: Sequence[str], count: int, used: Sequence[str], size: int = 4) -> list[dict[str, Any]]:
    """Rows for `figure_of`: `count` records of these fields (of `size` bytes each) as an array of structures and as a
    structure of arrays, where each lane reads the fields `used` of its record."""
    n = len(fields)
    by_record = [field for _ in range(count) for field in fields]
    by_field = [field for field in fields for _ in range(count)]
    wanted = [fields.index(field) for field in used]
    return [
        {
            "name": "array of structures",
            "values": by_record,
            "bytes": size,
            "used": sorted(record * n + field for record in range(count) for field in wanted),
        },
        {
            "name": "structure of arrays",
            "values": by_field,
            "bytes": size,
            "used": sorted(field * count + record for record in range(count) for field in wanted),
        },
    ]


def _moved(row: Mapping[str, Any]) -> set[int]:
    """The sectors that move."""
    size = row["bytes"]
    return {
        sector
        for place in row["used"]
        for sector in range(place * size // SECTOR, ((place + 1) * size - 1) // SECTOR + 1)
    }


def _share(row: Mapping[str, Any]) -> float:
    return row["bytes"] * len(set(row["used"])) / (SECTOR * len(_moved(row)))


def _strip(axis: Axes, row: Mapping[str, Any], y: float, scale: float) -> None:
    size, used, moved = row["bytes"], set(row["used"]), _moved(row)
    board.words(axis, 0.1, y + 0.12, str(row["name"]), fontweight="bold")
    numbers = f"{len(moved)} sectors, {style.percent(_share(row))} used"
    board.words(axis, board.width() - 0.1, y + 0.12, numbers, at="right")
    top = y + 0.28
    for place, value in enumerate(row["values"]):
        inside = place * size // SECTOR in moved
        fill = BLUE if place in used else AMBER if inside else PALE
        hatch = board.HATCH if fill == AMBER else ""
        text = "" if fill == AMBER else str(value)
        corner = (0.1 + place * size * scale, top)
        board.cell(axis, corner, (size * scale, CELL), fill, text, hatch=hatch, line=0.5)
        if fill == AMBER and board.text_width(str(value)) <= size * scale - 0.02:
            box = {"facecolor": fill, "edgecolor": "none", "pad": 1.0}
            middle = corner[0] + size * scale / 2
            board.words(axis, middle, top + CELL / 2, str(value), at="center", colour=style.ON_LIGHT, bbox=box)
    total = len(row["values"]) * size
    for sector in range(-(-total // SECTOR)):
        length = min(SECTOR, total - SECTOR * sector) * scale
        corner = (0.1 + SECTOR * sector * scale, top)
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": INK, "linewidth": 1.8 * style.scale()}
        axis.add_patch(Rectangle(corner, length, CELL, **look))


def _title(rows: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{row['name']}: {style.percent(_share(row))} of the bytes used" for row in rows[:2])
