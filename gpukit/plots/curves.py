"""Lines over an axis that may be logarithmic, and where they cross."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.plots.style import GREY, INK, MARKS, PALE, PAPER, SERIES

Row = Mapping[str, Any]
LINES = ("-", "--", "-.", ":")
HEIGHT = 4.2


def draw(rows: Sequence[Row], path: str | Path, **options: Any) -> None:
    """Write the figure to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(rows, **options), path)


def figure_of(
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    log_x: bool = True,
    log_y: bool = False,
    base: int = 10,
    ticks: Sequence[float] = (),
    crossing: bool = False,
    marks: Mapping[str, float] | None = None,
    limits: Mapping[str, float] | None = None,
    caption: str = "",
    title: str = "",
) -> Figure:
    """A line for each name, with its name at its end; nothing is hidden in a legend.

    Args:
        rows: "name", "x" and "y" of each point; where known "low" and "high", the spread of y.
        x, y: names of the axes, with their units.
        log_x, log_y: which axes are logarithmic; the others begin at 0.
        base: of the axis of x: 10 or 2.
        ticks: values of x that are labelled (default: powers of the base, as many as fit).
        crossing: mark where the first line crosses the second.
        marks: words and the x of vertical lines.
        limits: words and the y of horizontal lines.
        caption: below the figure; not on a slide.
        title: instead of the one that says where lines cross, or which is highest.

    Raises:
        GpukitError: there are no rows, a value is missing, or is not above 0 on a logarithmic axis; or lines are to
            cross and do not.
    """
    found = style.need(rows, ("name", "x", "y"), "the lines")
    if (log_x and min(row["x"] for row in found) <= 0) or (log_y and min(row["y"] for row in found) <= 0):
        raise GpukitError("a logarithmic axis needs values above 0; the lines have one that is not")
    lines: dict[str, list[Row]] = {}
    for row in sorted(found, key=lambda row: row["x"]):
        lines.setdefault(str(row["name"]), []).append(row)
    if len(lines) > len(MARKS):
        raise GpukitError(f"the figure draws at most {len(MARKS)} lines; got {len(lines)}")
    cross = _crossing(list(lines.values()), log_x, log_y) if crossing else None
    sheet, (axis,) = style.figure(title or _title(lines, cross, x), height=HEIGHT + 0.6, caption=caption)
    xs = sorted({float(row["x"]) for row in found})
    for place, points in enumerate(lines.values()):
        colour = SERIES[place]
        across, up = [p["x"] for p in points], [p["y"] for p in points]
        axis.plot(across, up, MARKS[place] + LINES[place % len(LINES)], color=colour, markersize=8, linewidth=2.5)
        spread = [p for p in points if p.get("low") is not None and p.get("high") is not None]
        if spread:
            look: dict[str, Any] = {"color": colour, "linewidth": 1.5, "alpha": 0.7}
            axis.vlines([p["x"] for p in spread], [p["low"] for p in spread], [p["high"] for p in spread], **look)
    axis.set_xscale("log" if log_x else "linear", **({"base": base} if log_x else {}))
    axis.set_yscale("log" if log_y else "linear")
    tops = [float(row.get("high") or row["y"]) for row in found] + list((limits or {}).values())
    if log_y:
        axis.set_ylim(min(float(row["y"]) for row in found) / 1.6, max(tops) * 1.6)
    else:
        axis.set_ylim(0, max(tops) * 1.12)
    edge = max(1.15, (xs[-1] / xs[0]) ** 0.04) if log_x else 1.0
    left, right = (xs[0] / edge, xs[-1] * edge) if log_x else (0.0, xs[-1] * 1.03)
    axis.set_xlim(left, right)
    if log_x or ticks:
        shown = list(ticks) or _powers(left, right, base)
        axis.xaxis.set_major_locator(FixedLocator(shown))
        axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value, base)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.grid(color=PALE)
    axis.set_axisbelow(True)
    words: dict[str, Any] = {"fontsize": style.text_size(), "color": INK}
    box = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5}
    for text, value in (limits or {}).items():
        axis.axhline(value, linestyle="--", color=INK, linewidth=1.5)
        axis.annotate(
            style.plain(text), (left, value), xytext=(6, 4), textcoords="offset points", va="bottom", bbox=box, **words
        )
    shown_marks = {**({f"about {_short(_rounded(cross[0]))}": cross[0]} if cross else {}), **(marks or {})}
    for text, value in shown_marks.items():
        axis.axvline(value, linestyle=":", color=GREY, linewidth=1.8, zorder=0)
        around: dict[str, Any] = {"xycoords": axis.get_xaxis_transform(), "textcoords": "offset points"}
        axis.annotate(style.plain(text), (value, 1.0), xytext=(0, 2), ha="center", va="bottom", **around, **words)
    if cross:
        axis.plot(*cross, "o", markersize=16, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=2)
    _names(axis, lines, sheet.get_figheight())
    style.label(axis, x, y)
    return sheet


def _names(axis: Any, lines: Mapping[str, Sequence[Row]], inches: float) -> None:
    """The name of each line to the right of its last point; close ones are spread."""
    low, high = axis.get_ylim()
    scale = (lambda value: log(value)) if axis.get_yscale() == "log" else float
    low, high = scale(low), scale(high)
    gap = 0.24 * style.scale() / (inches - 0.6 * style.scale())
    wanted = [(scale(points[-1]["y"]) - low) / (high - low) for points in lines.values()]
    places = style.spread(wanted, gap, 0.03, 0.97)
    for place, (name, points) in enumerate(lines.items()):
        # Text of its own colour would be too pale for some: the mark says which line it is.
        axis.annotate(
            style.plain(name),
            (points[-1]["x"], points[-1]["y"]),
            xytext=(1.035, places[place]),
            textcoords="axes fraction",
            va="center",
            fontsize=style.text_size(),
            color=INK,
            arrowprops={"arrowstyle": "-", "color": SERIES[place], "linewidth": 1.5, "shrinkA": 2, "shrinkB": 6},
        )


def _short(value: float, base: int = 10) -> str:
    """A number that does not take much of an axis: 4 million is "4 M", of powers of two 2^22 is "4 Mi"."""
    steps = ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")) if base == 2 else ((1e9, "G"), (1e6, "M"))
    for size, name in steps:
        if value >= size and value % (size / 1000 if base == 10 else size) == 0:
            return f"{value / size:g} {name}"
    return f"{value:,.10g}"


def _rounded(value: float) -> float:
    """Two digits of a value: a crossing lies between measurements."""
    return float(f"{value:.1e}")


def _powers(left: float, right: float, base: int) -> list[float]:
    """Powers of the base between two values, at most eight of them."""
    first, last = int(-(-log(left, base) // 1)), int(log(right, base) // 1)
    step = max(1, -(-(last - first + 1) // 8))
    return [float(base) ** power for power in range(first, last + 1, step)]


def _crossing(lines: Sequence[Sequence[Row]], log_x: bool, log_y: bool) -> tuple[float, float]:
    """(x, y) where the first line crosses the second, between points that both have. Raises GpukitError."""
    if len(lines) > 1:
        first, second = ({float(row["x"]): float(row["y"]) for row in line} for line in lines[:2])
        both = sorted(set(first) & set(second))
        for a, b in itertools.pairwise(both):
            before, after = _apart(first, second, a, log_y), _apart(first, second, b, log_y)
            if before == 0:
                return a, first[a]
            if before * after <= 0:
                part = before / (before - after)
                x = a * (b / a) ** part if log_x else a + (b - a) * part
                y = first[a] * (first[b] / first[a]) ** part if log_y else first[a] + (first[b] - first[a]) * part
                return x, y
    raise GpukitError("the first line does not cross the second: their difference keeps its sign at every x of both")


def _apart(first: Mapping[float, float], second: Mapping[float, float], x: float, log_y: bool) -> float:
    return log(first[x] / second[x]) if log_y else first[x] - second[x]


def _title(lines: Mapping[str, Sequence[Row]], cross: tuple[float, float] | None, x: str) -> str:
    names = list(lines)
    if cross:
        return f"'{names[0]}' and '{names[1]}' cross at about {_short(_rounded(cross[0]))} ({x})"
    highest = max(names, key=lambda name: max(row["y"] for row in lines[name]))
    return f"The highest values are those of '{highest}'"
