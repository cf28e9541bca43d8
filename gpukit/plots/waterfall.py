"""The ladder: what each rung adds to the one below it, on one axis with the ceilings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.plots.style import AMBER, BLUE, GREY, INK, PALE, PAPER

Row = Mapping[str, Any]
BANDWIDTH = "bandwidth_gb_s"
CEILINGS: dict[str, Any] = {"copy": "--", "read": "-.", "data sheet": "-", "goal": ":"}
LOG_FROM = 30  # largest over smallest value of a counter from which its axis is logarithmic
SHORT = {"CUDA C++": "C++"}
HOST, ONE_NUMBER = "host", "one number"
ROW_INCHES, FRAME_INCHES = 0.33, 2.35
# To the right of the bars: the value, the step, the verdict (inches, and inches a letter).
VALUE_INCHES, STEP_INCHES, VERDICT_INCHES = 0.75, 0.8, 0.1


def draw(rows: Sequence[Row], path: str | Path, **options: Any) -> None:
    """Write the ladder to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(rows, **options), path)


def figure_of(
    rows: Sequence[Row],
    *,
    ceilings: Mapping[str, float] | None = None,
    device: str = "",
    date: str = "",
    n: int | None = None,
    counter: str = "",
    newest: str = "",
    title: str = "",
) -> Figure:
    """The ladder as a waterfall: one bar per rung, first on top, split into what the rung above it in the table has and
    what this one adds or loses.

    Args:
        rows: one per rung, in the order of the ladder: "name", "bandwidth_gb_s" (1e9 bytes/s), and, where known,
            "language", "low" and "high" (the spread), "best" (of the fastest run; drawn with `newest`), "produces"
            ("one number", or what else is left), "verdict" (a word or two), "against" (name of the row it is compared
            with; default: the nearest row above in the same language). Rows of the language "host" (libraries, NumPy)
            stand for themselves.
        ceilings: "copy", "read", "data sheet" and "goal" in GB/s, as far as they are known.
        device, date, n: for the caption.
        counter: draw this key of the rows instead, a count for which less is better. Named as it is to be read
            ("global load sectors per element"); the axis is logarithmic where values differ more than 30-fold.
        newest: name of the row that this ladder has come to: rows above it are pale, it is solid, and those below have
            only their room, so that nothing moves from one slide to the next. Beside the step stands the share of the
            copy, where that is known.
        title: instead of the one that states what the ladder gains.

    Raises:
        GpukitError: there are no rows, or a value is missing, negative, or a bandwidth of 0.
    """
    key = counter or BANDWIDTH
    found = style.need(rows, ("name", key), "the ladder")
    values = [float(row[key]) for row in found]
    if min(values) < 0 or (not counter and min(values) == 0):
        bad = found[values.index(min(values))]["name"]
        raise GpukitError(f"the ladder: {key} of {bad} is {min(values):g}; that cannot be")
    before = _before(found, values)
    if newest and newest not in [row["name"] for row in found]:
        raise GpukitError(f"the ladder has no row {newest!r}; it has {', '.join(str(row['name']) for row in found)}")
    shown = next((place + 1 for place, row in enumerate(found) if row["name"] == newest), len(found))
    lines = {} if counter else {name: value for name, value in (ceilings or {}).items() if value}
    unknown = set(lines) - set(CEILINGS)
    if unknown:
        raise GpukitError(f"the ladder knows the ceilings {', '.join(CEILINGS)}; not {', '.join(sorted(unknown))}")
    above_0 = [value for value in values if value] or [1.0]
    log = bool(counter) and max(above_0) / min(above_0) > LOG_FROM
    names = _names(found)
    beside = _beside(found, values, lines, newest)
    letters = max(map(len, beside))
    verdict_inches = 0.15 + VERDICT_INCHES * letters if letters else 0
    table_inches = (1.2 * style.scale() if style.is_slide() else 1) * (VALUE_INCHES + STEP_INCHES + verdict_inches)
    sheet, (axis, table) = style.figure(
        title or _title(found[:shown], names, values[:shown], counter),
        columns=2,
        widths=[style.width() - table_inches, table_inches],
        height=FRAME_INCHES + ROW_INCHES * len(found),
        caption=_caption(found, device, date, n, counter),
        note=_caption(found, "", "", None, "").replace(
            "Black lines", "Thin lines"
        ),  # on a dark page they are not black
    )
    low = min(above_0) / 2 if log else 0.0
    for place, (row, value, prior) in enumerate(zip(found[:shown], values, before, strict=False)):
        if newest:
            look: dict[str, Any] = {"color": BLUE} if place == shown - 1 else {"color": PALE}
            axis.barh(place, value - low, left=low, height=0.66, zorder=2, **look)
        else:
            _bar(axis, place, max(value, low), None if prior is None else max(prior, low), low, counter, _is_host(row))
        if newest and row.get("best") is not None:
            axis.plot(row["best"], place, "D", color=PAPER, markeredgecolor=INK, markersize=7, zorder=5)
        if row.get("low") is not None and row.get("high") is not None and not counter:
            axis.plot([row["low"], row["high"]], [place, place], "-", color=INK, linewidth=1.5, zorder=4)
    top = max([*above_0, *lines.values(), *(row.get("high") or 0 for row in found if not counter)])
    axis.set_xscale("log" if log else "linear")
    axis.set_xlim(low, top * (1.3 if log else 1.02))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_yticks(range(len(found)), [mark + name for mark, name in zip(_marks(found), names, strict=True)])
    for name, value in lines.items():
        axis.axvline(value, linestyle=CEILINGS[name], color=INK, linewidth=1.5, zorder=3)
    _numbers(table, values[:shown], before, beside, VALUE_INCHES + STEP_INCHES + verdict_inches)
    for side in (axis, table):
        side.set_ylim(len(found) - 0.5, -0.5)
    style.label(axis, f"{counter} (less is better)" if counter else "measured bandwidth (GB/s, 1 GB = 1e9 bytes)")
    style.legend(
        axis, _handles(found, values, before, lines, counter, newest), columns=5 if newest else 4, at_edge=True
    )
    return sheet


def _is_host(row: Row) -> bool:
    return row.get("language") == HOST


def _before(rows: Sequence[Row], values: Sequence[float]) -> list[float | None]:
    """What each row is compared with: the row it names, or the nearest above in its language; None for a first one."""
    by_name = {row["name"]: value for row, value in zip(rows, values, strict=True)}
    latest: dict[str, float] = {}
    result: list[float | None] = []
    for row, value in zip(rows, values, strict=True):
        language = row.get("language") or ""
        prior = None if _is_host(row) else by_name.get(row.get("against"), latest.get(language))
        result.append(prior)
        latest[language] = value
    return result


def _bar(axis: Axes, place: int, value: float, prior: float | None, low: float, counter: str, host: bool) -> None:
    """One bar: what it had, and what came (solid) or went (an outline). Of a counter, less is a gain."""
    size: dict[str, Any] = {"height": 0.66, "zorder": 2}
    shared = low if prior is None else min(value, prior)
    gained = BLUE if not counter else AMBER
    lost = AMBER if not counter else BLUE
    if prior is None:
        axis.barh(place, value - low, left=low, color=GREY if host else PALE if counter else gained, **size)
        return
    axis.barh(place, shared - low, left=low, color=PALE, **size)
    if value > prior:
        hatch: dict[str, Any] = {"hatch": "//", "edgecolor": INK, "linewidth": 0} if counter else {}
        axis.barh(place, value - prior, left=prior, color=gained, **hatch, **size)
    elif value < prior:
        axis.barh(
            place,
            prior - value,
            left=value,
            facecolor="none",
            edgecolor=lost,
            hatch="" if counter else "////",
            linewidth=1.2,
            **size,
        )


def _beside(rows: Sequence[Row], values: Sequence[float], lines: Mapping[str, float], newest: str) -> list[str]:
    """What stands beside the step of each row: its verdict, or its share of the copy."""
    if not newest:
        return [str(row.get("verdict") or "") for row in rows]
    copy = lines.get("copy")
    return [f"{value / copy:.0%} of copy" if copy else "" for value in values]


def _numbers(
    table: Axes, values: Sequence[float], before: Sequence[float | None], beside: Sequence[str], inches: float
) -> None:
    """Columns to the right of the bars: the value, the step, and what stands beside it."""
    table.set_axis_off()
    table.set_xlim(0, inches)
    look: dict[str, Any] = {"va": "center_baseline", "fontsize": style.text_size(), "color": INK}
    for place, (value, prior, more) in enumerate(zip(values, before, beside, strict=False)):
        table.text(VALUE_INCHES - 0.1, place, style.number(value), ha="right", fontweight="bold", **look)
        step = "" if prior is None else _step(value, prior)
        table.text(VALUE_INCHES + STEP_INCHES - 0.05, place, step, ha="right", **look)
        table.text(VALUE_INCHES + STEP_INCHES + 0.1, place, style.plain(more), ha="left", **look)


def _step(value: float, prior: float) -> str:
    """The step from the row before, as a signed percentage, or a factor where that is easier to read."""
    if value == prior:
        return "same"
    if not value or not prior:
        return "to 0" if prior else "from 0"
    if value >= 2 * prior or prior >= 2 * value:
        return f"x {_times(value / prior)}" if value > prior else f"÷ {_times(prior / value)}"
    percent = 100 * (value / prior - 1)
    return "same" if abs(percent) < 0.5 else f"{percent:+.0f}%".replace("-", "−")  # noqa: RUF001


def _times(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= 10 else f"{factor:.1f}".removesuffix(".0")


def _marks(rows: Sequence[Row]) -> list[str]:
    """Whether each row leaves one number or something else, where rows differ in that."""
    kinds = [row.get("produces") or "" for row in rows]
    if len(set(kinds)) < 2:
        return [""] * len(rows)
    return ["" if not kind else "● " if kind == ONE_NUMBER else "○ " for kind in kinds]


def _names(rows: Sequence[Row]) -> list[str]:
    """The names, with the language where there are several."""
    languages = {row.get("language") for row in rows if not _is_host(row)}
    shown = len(languages) > 1
    return [
        style.kernel_name(row)
        + (
            f" ({SHORT.get(row['language'], row['language'])})"
            if shown and row.get("language") and not _is_host(row)
            else ""
        )
        for row in rows
    ]


def _title(rows: Sequence[Row], names: Sequence[str], values: Sequence[float], counter: str) -> str:
    """What the best kernel gains over the first; libraries only where there is nothing else."""
    places = [place for place, row in enumerate(rows) if not _is_host(row)] or list(range(len(rows)))
    first = places[0]
    best = (min if counter else max)(places, key=lambda place: values[place])
    start, end = values[first], values[best]
    if not (end < 0.95 * start if counter else end > 1.05 * start):
        return f"No rung does better than the first, '{names[first]}'"
    if not end:
        return f"'{names[best]}' needs no {counter}, '{names[first]}' {style.number(start)}"
    if counter:
        return f"'{names[best]}' needs {_times(start / end)} times fewer {counter} than '{names[first]}'"
    return f"'{names[best]}' moves {_times(end / start)} times as much a second as '{names[first]}'"


def _caption(rows: Sequence[Row], device: str, date: str, n: int | None, counter: str) -> str:
    parts = [device, f"n = {n:,}" if n is not None else "", date]
    first = ", ".join(part for part in parts if part)
    told = [f"{first}." if first else ""]
    if counter:
        told.append("These are counters, not times: they say what a kernel asks of the GPU, not how long that takes.")
    kinds = list(dict.fromkeys(row["produces"] for row in rows if row.get("produces")))
    if any(_marks(rows)):
        told += [f"{'●' if kind == ONE_NUMBER else '○'} leaves {kind}." for kind in kinds]
    elif kinds:
        told.append(f"Each leaves {kinds[0]}.")
    if not counter and any(row.get("low") is not None for row in rows):
        told.append("Black lines: spread of the repeats.")
    return " ".join(text for text in told if text)


def _handles(
    rows: Sequence[Row],
    values: Sequence[float],
    before: Sequence[float | None],
    lines: Mapping[str, float],
    counter: str,
    newest: str,
) -> list[Any]:
    """The legend: only what is there."""
    pairs = [(value, prior) for value, prior in zip(values, before, strict=True) if prior is not None]
    rises, falls = any(value > prior for value, prior in pairs), any(value < prior for value, prior in pairs)
    handles: list[Any] = []
    if newest:
        handles += [Patch(color=PALE, label="earlier"), Patch(color=BLUE, label="new")]
    elif counter:
        handles.append(Patch(color=PALE, label="needed"))
        if falls:
            handles.append(Patch(facecolor="none", edgecolor=BLUE, label="saved"))
        if rises:
            handles.append(Patch(facecolor=AMBER, edgecolor=INK, hatch="//", linewidth=0, label="added"))
    else:
        if pairs:
            handles.append(Patch(color=PALE, label="had before"))
        if rises or not all(map(_is_host, rows)):
            handles.append(Patch(color=BLUE, label="gained"))
        if falls:
            handles.append(Patch(facecolor="none", edgecolor=AMBER, hatch="////", label="lost"))
    if any(map(_is_host, rows)) and not newest:
        handles.append(Patch(color=GREY, label="library or host"))
    if newest and any(row.get("best") is not None for row in rows):
        handles.append(Line2D([], [], linestyle="", marker="D", color=PAPER, markeredgecolor=INK, label="fastest run"))
    for name, value in lines.items():
        handles.append(Line2D([], [], linestyle=CEILINGS[name], color=INK, label=f"{name} {value:,.0f} GB/s"))
    return handles
