"""Gathers: which rows of a table the ids of a warp fetch, and how many sectors that moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpukit.errors import GpukitError
from gpukit.plots import board, style
from gpukit.plots.style import AMBER, BLUE, INK, PALE, PAPER

SECTOR = 32
MAX_PANELS, MAX_LANES, MAX_SECTORS = 2, 32, 16
SHOWN_LANES = 8
TABLE_INCHES = 0.5
GAP = 0.4
ROW, LEAST_ROW = 0.3, 0.18
TOP, BOTTOM = 0.66, 0.76


def draw(panels: Sequence[Mapping[str, Any]], path: str | Path, **options: Any) -> None:
    """Write the figure to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(panels, **options), path)


def figure_of(panels: Sequence[Mapping[str, Any]], *, title: str = "") -> Figure:
    """The ids of a warp at the left, the table in the middle with the rows that they fetch, at the right the sectors of
    each of these rows; one or two panels beside each other.

    Args:
        panels: each with "name", "ids" (of up to 32 lanes; the first 8 are drawn, all are counted), "rows" (of the
            table) and "row_bytes"; where wanted "index" (what an id is called, default "id").
        title: instead of the one that says how much of the moved bytes is used.

    Raises:
        GpukitError: something is missing, there are too many panels or lanes, or an id is not in the table.
    """
    found = style.need(panels, ("name", "ids", "rows", "row_bytes"), "the gathers")
    if len(found) > MAX_PANELS:
        raise GpukitError(f"the gathers have at most {MAX_PANELS} panels; got {len(found)}")
    for panel in found:
        ids = panel["ids"]
        if not 1 <= len(ids) <= MAX_LANES or not all(0 <= number < panel["rows"] for number in ids):
            raise GpukitError(
                f"the gathers of {panel['name']} need 1 to {MAX_LANES} ids from 0 to {panel['rows'] - 1:,}; "
                f"got {', '.join(map(str, ids))}"
            )
    lanes = max(min(len(panel["ids"]), SHOWN_LANES) for panel in found)
    most = board.room()
    row = ROW if most is None else max(LEAST_ROW, min(ROW, (most - TOP - BOTTOM) / lanes))
    sheet, axis = board.board(title or _title(found), TOP + BOTTOM + row * lanes, what="the picture of the gathers")
    inches = (board.width() - 0.2 - GAP * (len(found) - 1)) / len(found)
    for place, panel in enumerate(found):
        _panel(axis, panel, 0.1 + place * (inches + GAP), inches, row, lanes)
    return sheet


def sectors_of(ids: Sequence[int], row_bytes: int) -> dict[int, int]:
    """Bytes used of each sector that a warp moves when each lane reads a whole row of a table that begins at a
    multiple of 128 bytes. Lanes with the same id share them."""
    used: dict[int, int] = {}
    for number in set(ids):
        for sector, count in _row_sectors(number, row_bytes):
            used[sector] = used.get(sector, 0) + count
    return used


def _row_sectors(number: int, row_bytes: int) -> list[tuple[int, int]]:
    """(sector, bytes of it) of one row of the table."""
    start, end = number * row_bytes, (number + 1) * row_bytes
    return [
        (sector, min(end, SECTOR * (sector + 1)) - max(start, SECTOR * sector))
        for sector in range(start // SECTOR, -(-end // SECTOR))
    ]


def _panel(axis: Axes, panel: Mapping[str, Any], x: float, inches: float, row: float, lanes: int) -> None:
    ids, row_bytes, rows = list(panel["ids"]), panel["row_bytes"], panel["rows"]
    shown = ids[:lanes]
    index = panel.get("index") or "id"
    names = [f"{index} {number:,}" for number in shown]
    id_inches = max(map(board.text_width, names)) + 0.12
    table = x + max(id_inches, board.text_width(index)) + 0.75
    sectors_x = table + TABLE_INCHES + 0.75
    slot = min((x + inches - sectors_x) / max(len(_row_sectors(number, row_bytes)) for number in shown), 0.34)
    board.words(axis, x, 0.12, str(panel["name"]), fontweight="bold")
    for at, text in ((x, "lanes"), (table, "table"), (sectors_x, "sectors")):
        board.words(axis, at, 0.12 + board.LINE + 0.06, text)
    bottom = TOP + row * lanes
    board.cell(axis, (table, TOP), (TABLE_INCHES, row * lanes), PALE)
    for place, (number, name) in enumerate(zip(shown, names, strict=True)):
        middle = TOP + row * (place + 0.5)
        board.cell(axis, (x, middle - 0.46 * row), (id_inches, 0.92 * row), PAPER, name)
        thick = max(0.05, row * lanes / rows)
        there = TOP + (row * lanes - thick) * (number / max(1, rows - 1))
        board.cell(axis, (table, there), (TABLE_INCHES, thick), BLUE, line=0)
        board.arrow(axis, (x + id_inches + 0.03, middle), (table - 0.02, there + thick / 2))
        axis.plot([table + TABLE_INCHES, sectors_x - 0.05], [there + thick / 2, middle], color=INK, linewidth=0.8)
        for part, (sector, count) in enumerate(_row_sectors(number, row_bytes)):
            first = max(0, number * row_bytes - SECTOR * sector) / SECTOR
            corner, size = (sectors_x + part * slot, middle - 0.36 * row), (0.92 * slot, 0.72 * row)
            board.cell(axis, corner, size, AMBER if count < SECTOR else BLUE, hatch=board.HATCH * (count < SECTOR))
            if count < SECTOR:
                board.cell(axis, (corner[0] + first * size[0], corner[1]), (size[0] * count / SECTOR, size[1]), BLUE)
    used = sectors_of(ids, row_bytes)
    moved = SECTOR * len(used)
    numbers = (
        f"{len(ids)} lane{'s' if len(ids) > 1 else ''}: {len(used):,} sectors, "
        f"{sum(used.values()):,} of {moved:,} bytes used ({style.percent(sum(used.values()) / moved)})"
    )
    for line, text in enumerate(board.wrapped(numbers, inches).splitlines()):
        board.words(axis, x, bottom + 0.16 + board.LINE * line, text)
    board.key(axis, bottom + BOTTOM - 0.14, [(BLUE, "", "used"), (AMBER, board.HATCH, "moved, not used")], x)


def _title(panels: Sequence[Mapping[str, Any]]) -> str:
    shares = []
    for panel in panels:
        used = sectors_of(panel["ids"], panel["row_bytes"])
        shares.append((sum(used.values()) / (SECTOR * len(used)), panel["name"]))
    return ", ".join(f"{name} uses {style.percent(share)} of the bytes that it moves" for share, name in shares)
