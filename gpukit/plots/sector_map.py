"""Sectors: what each request of a warp moves, and how much of that it uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.plots.style import AMBER, BLUE, INK, PALE, PAPER

Trace = Mapping[str, Any]
SECTOR, LINE = 32, 128
MAX_ROWS = 20
FRAME_INCHES, ROW_INCHES = 2.35, 0.24
MAX_CACHE_LINES = 36
MIN_COLUMNS = 16
GAP = 0.6  # columns between cache lines
JUMP = 2.0  # columns where lines were left out


def draw(trace: Any, path: str | Path, **options: Any) -> None:
    """Write the sector map to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(trace, **options), path)


def figure_of(
    trace: Any,
    *,
    warp: int = 0,
    block: int | None = None,
    array: str = "",
    kinds: Sequence[str] = ("load",),
    title: str = "",
) -> Figure:
    """A row for each request of a warp to one array, a column for each 32-byte sector, filled as far as it is used.

    Args:
        trace: what `Trace.to_dict()` gives.
        warp, block: whose requests (default: warp 0 of the first block that was recorded).
        array: name of the array (default: the one with most requests).
        kinds: "load", "store" and "atomic", as wanted.
        title: instead of the one that says how much of the moved bytes is used.

    Raises:
        GpukitError: this is no trace, or it has no such requests.
    """
    data = style.trace_of(trace)
    requests = requests_of(data, "global", warp, block, array, kinds)
    name = data["arrays"][requests[0]["array"]]["name"]
    rows = [sectors_of(data, request) for request in requests]
    used, moved = sum(sum(row.values()) for row in rows), SECTOR * sum(len(row) for row in rows)
    sheet_rows, columns = _fitting(rows)
    share = style.percent(used / moved)
    count = f"{len(rows):,} {_kinds(kinds)} requests" if len(rows) > 1 else f"One {_kinds(kinds)} request"
    average = f"{style.number(sum(map(len, rows)) / len(rows))} sectors" + (" on average" if len(rows) > 1 else "")
    caption = f"{count} of warp {warp} to {name}: {average}, {used:,} bytes used of {moved:,} moved ({share})."
    if len(sheet_rows) < len(rows):
        caption += f" The first {len(sheet_rows)} are shown."
    caption += style.cut_off(data)
    first = "" if len(sheet_rows) == len(rows) else f"The first {len(sheet_rows)} of {len(rows)} requests."
    sheet, (axis,) = style.figure(
        title or f"A {_kinds(kinds)} request of '{data['kernel']}' uses {share} of the bytes that it moves",
        height=FRAME_INCHES + ROW_INCHES * len(sheet_rows),
        caption=caption,
        note=first,
    )
    empty: list[Rectangle] = []
    full: list[Rectangle] = []
    part: list[Rectangle] = []
    for place, row in enumerate(sheet_rows):
        for sector, x in columns.items():
            bytes_used = row.get(sector)
            empty.append(Rectangle((x, place - 0.42), 0.92, 0.84))
            if bytes_used is not None:
                height = 0.84 * bytes_used / SECTOR
                cell = Rectangle((x, place + 0.42 - height), 0.92, height)
                (full if bytes_used == SECTOR else part).append(cell)
    touched = [
        Rectangle((columns[sector], place - 0.42), 0.92, 0.84) for place, row in enumerate(sheet_rows) for sector in row
    ]
    looks: tuple[tuple[list[Rectangle], dict[str, Any]], ...] = (
        (empty, {"facecolor": PALE, "linewidth": 0}),
        (touched, {"facecolor": PAPER, "linewidth": 0}),
        (full, {"facecolor": BLUE, "linewidth": 0}),
        (part, {"facecolor": AMBER, "linewidth": 0}),
        (touched, {"facecolor": "none", "edgecolor": INK, "linewidth": 0.6}),
    )
    for cells, look in looks:
        axis.add_collection(PatchCollection(cells, **look))
    axis.set_xlim(-0.5, max(max(columns.values()) + 1.5, MIN_COLUMNS))
    axis.set_ylim(len(sheet_rows) - 0.4, -0.6)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.set_yticks(range(len(sheet_rows)), [_row_name(request) for request in requests[: len(sheet_rows)]])
    for place, row in enumerate(sheet_rows):
        axis.text(
            1.01,
            place,
            str(len(row)),
            transform=axis.get_yaxis_transform(),
            va="center",
            fontsize=style.text_size(),
            color=INK,
        )
    axis.text(1.01, 1.01, "sectors", transform=axis.transAxes, va="bottom", fontsize=style.text_size(), color=INK)
    _label_lines(axis, columns)
    jumps = any(b - a > SECTOR // 8 for a, b in zip(_lines(columns), _lines(columns)[1:], strict=False))
    left_out = "; where the gap is wide, untouched lines are left out" if jumps else ""
    style.label(axis, f"byte of {name} (a column is a 32-byte sector, four a 128-byte line{left_out})")
    axis.xaxis.label.set_wrap(True)
    handles = [Patch(color=BLUE, label="all 32 bytes used")] if full else []
    handles += [Patch(facecolor=AMBER, label="a part used (height)")] if part else []
    handles += [Patch(color=PALE, label="not touched")] if len(touched) < len(empty) else []
    style.legend(axis, handles, columns=3, bbox_to_anchor=(0, 1.02))
    return sheet


def requests_of(
    data: Trace, space: str, warp: int, block: int | None, array: str, kinds: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Requests of one warp to one array, in order. Raises GpukitError when there are none."""
    number = data["blocks"][0] if block is None else block
    found = [
        request
        for request in data["requests"]
        if (request["space"], request["warp"], request["block"]) == (space, warp, number) and request["kind"] in kinds
    ]
    by_array: dict[int, int] = {}
    for request in found:
        by_array[request["array"]] = by_array.get(request["array"], 0) + 1
    if array:
        by_array = {place: count for place, count in by_array.items() if data["arrays"][place]["name"] == array}
    if not by_array:
        what = f"{space} {_kinds(kinds)} request" + (f" to `{array}`" if array else "")
        raise GpukitError(f"the trace of {data['kernel']} has no {what} of warp {warp} in block {number}")
    most = max(by_array, key=lambda place: by_array[place])
    return [request for request in found if request["array"] == most]


def sectors_of(data: Trace, request: Mapping[str, Any]) -> dict[int, int]:
    """Bytes used of each sector that a request touches, by the number of the sector from the array's first line on."""
    start = data["arrays"][request["array"]]["start"]
    first = np.array(request["offsets"]) + start
    used = np.unique(first[:, None] + np.arange(request["width"]))
    sectors, counts = np.unique(used // SECTOR, return_counts=True)
    return dict(zip(sectors.tolist(), counts.tolist(), strict=True))


def _fitting(rows: Sequence[dict[int, int]]) -> tuple[list[dict[int, int]], dict[int, float]]:
    """(the first rows, as many as fit, and the column of every sector of the lines that they touch)."""
    shown: list[dict[int, int]] = []
    lines: set[int] = set()
    for row in rows[: style.rows_that_fit(MAX_ROWS, FRAME_INCHES, ROW_INCHES)]:
        more = lines | {sector * SECTOR // LINE for sector in row}
        if shown and len(more) > MAX_CACHE_LINES:
            break
        shown.append(row)
        lines = more
    columns: dict[int, float] = {}
    x, last = 0.0, None
    per_line = LINE // SECTOR
    for line in sorted(lines):
        x += 0 if last is None else GAP if line == last + 1 else JUMP
        for sector in range(line * per_line, (line + 1) * per_line):
            columns[sector] = x
            x += 1
        last = line
    return shown, columns


def _lines(columns: Mapping[int, float]) -> list[int]:
    """First sector of each cache line that has columns."""
    return [sector for sector in columns if sector % (LINE // SECTOR) == 0]


def _label_lines(axis: Any, columns: Mapping[int, float]) -> None:
    """Byte numbers under the lines, as many as have room."""
    width = max(max(columns.values()) + 1, MIN_COLUMNS)
    shown: list[int] = []
    room = width * (0.04 + 0.013 * len(f"{max(columns) * SECTOR:,}"))
    for sector in _lines(columns):
        if not shown or columns[sector] - columns[shown[-1]] >= room:
            shown.append(sector)
    axis.set_xticks([columns[sector] for sector in shown], [f"{sector * SECTOR:,}" for sector in shown])
    for text in axis.get_xticklabels():
        text.set_horizontalalignment("left")


def _row_name(request: Mapping[str, Any]) -> str:
    lanes = request["mask"].bit_count()
    return f"{request['kind']}, {lanes} lane{'s' if lanes > 1 else ''}"


def _kinds(kinds: Sequence[str]) -> str:
    return " or ".join(kinds)
