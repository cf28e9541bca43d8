"""The sweep of the grid: bandwidth over the number of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.plots.style import GREY, INK, MARKS, PAPER, SERIES

Row = Mapping[str, Any]
WAVES = (1, 2, 4, 8, 16, 32, 64)  # multiples of the multiprocessors that are marked
FLAT = 0.95


def draw(rows: Sequence[Row], path: str | Path, **options: Any) -> None:
    """Write the sweep to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(rows, **options), path)


def figure_of(
    rows: Sequence[Row],
    *,
    sms: int,
    ceiling_gb_s: float | None = None,
    device: str = "",
    date: str = "",
    n: int | None = None,
    title: str = "",
) -> Figure:
    """Bandwidth over the number of blocks, a line per kernel.

    Args:
        rows: "blocks" and "bandwidth_gb_s" (1e9 bytes/s) of each measurement; where known "name" (one line each),
            "low" and "high".
        sms: multiprocessors of the device; its multiples are marked.
        ceiling_gb_s: bandwidth of a copy, drawn as a line.
        device, date, n: for the caption.
        title: instead of the one that says from how many blocks on more do not help.

    Raises:
        GpukitError: there are no rows, or a value is missing or not positive.
    """
    found = style.need(rows, ("blocks", "bandwidth_gb_s"), "the sweep")
    if sms < 1 or any(row["blocks"] < 1 or row["bandwidth_gb_s"] <= 0 for row in found):
        raise GpukitError("the sweep needs blocks, bandwidths and multiprocessors that are more than 0")
    lines: dict[str, list[Row]] = {}
    for row in sorted(found, key=lambda row: row["blocks"]):
        lines.setdefault(str(row.get("name") or ""), []).append(row)
    parts = [device, f"n = {n:,}" if n is not None else "", date]
    told = ", ".join(part for part in parts if part)
    dotted = f"Dotted: 1, 2, 4, ... blocks for each of the {sms} multiprocessors."
    sheet, (axis,) = style.figure(
        title or _title(lines),
        height=5.06,
        caption=f"{told + '. ' if told else ''}{dotted}",
        note=dotted,
    )
    handles = []
    for place, (name, points) in enumerate(lines.items()):
        x, y = [p["blocks"] for p in points], [p["bandwidth_gb_s"] for p in points]
        colour = SERIES[place % len(SERIES)]
        (line,) = axis.plot(x, y, MARKS[place % len(MARKS)] + "-", color=colour, markersize=8, linewidth=2, label=name)
        handles += [line] if name else []
        if all(p.get("low") is not None and p.get("high") is not None for p in points):
            axis.fill_between(x, [p["low"] for p in points], [p["high"] for p in points], color=colour, alpha=0.2)
    if ceiling_gb_s:
        handles.append(
            axis.axhline(ceiling_gb_s, linestyle="--", color=INK, linewidth=1.5, label=f"copy {ceiling_gb_s:,.0f} GB/s")
        )
    blocks = sorted({row["blocks"] for row in found})
    axis.set_xscale("log", base=2)
    left, right = blocks[0] / 1.3, blocks[-1] * 1.3
    axis.set_xlim(left, right)
    top = max([ceiling_gb_s or 0, *(row.get("high") or row["bandwidth_gb_s"] for row in found)])
    axis.set_ylim(0, top * 1.16)
    axis.xaxis.set_major_locator(FixedLocator(_apart(blocks)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    for times in WAVES:
        if left < times * sms < right:
            axis.axvline(times * sms, linestyle=":", color=GREY, linewidth=1.2, zorder=0)
            axis.text(
                times * sms, top * 1.15, f"x {times}", ha="center", va="top", fontsize=style.text_size(), color=INK
            ).set_bbox({"facecolor": PAPER, "edgecolor": "none", "pad": 1})
    style.label(axis, "blocks in the grid", "measured bandwidth (GB/s)")
    if handles:
        style.legend(axis, handles, columns=min(3, len(handles)))
    return sheet


def _apart(blocks: Sequence[int]) -> list[int]:
    """Block counts that are labelled: at least a factor of 1.8 apart, so that their numbers do not touch."""
    shown: list[int] = []
    for count in blocks:
        if not shown or count >= 1.8 * shown[-1]:
            shown.append(count)
    return shown


def _title(lines: Mapping[str, Sequence[Row]]) -> str:
    """From how many blocks on the fastest line is flat."""
    name, points = max(lines.items(), key=lambda item: max(row["bandwidth_gb_s"] for row in item[1]))
    best = max(row["bandwidth_gb_s"] for row in points)
    enough = next(row["blocks"] for row in points if row["bandwidth_gb_s"] >= FLAT * best)
    who = f"'{style.plain(name)}'" if name else "the kernel"
    return f"From {enough:,} blocks on {who} is within {1 - FLAT:.0%} of its best: more blocks hardly help"
