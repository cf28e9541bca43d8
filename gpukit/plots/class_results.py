"""A class: how many passed each task, and what each counter costs relative to the reference solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor, log2
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.plots.style import AMBER, BLUE, GREY, INK, PALE, PAPER

Row = Mapping[str, Any]
BINS_PER_OCTAVE = 2
LOW, HIGH = -3, 5  # octaves shown at most: from an eighth of the reference's to 32 times
MAX_COSTS = 8
NAME_LENGTH = 38
PARTS: tuple[tuple[str, str, str, str, str], ...] = (
    ("passed", BLUE, "", style.ON_DARK, "passed"),
    ("failed", AMBER, "//", style.ON_LIGHT, "failed"),
    ("not_started", PALE, "", INK, "not started"),
)


def draw(tasks: Sequence[Row], costs: Sequence[Row], path: str | Path, **options: Any) -> None:
    """Write the figure to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(tasks, costs, **options), path)


def figure_of(tasks: Sequence[Row], costs: Sequence[Row] = (), *, title: str = "") -> Figure:
    """Bars of the tasks, and under them a histogram of each counter.

    Args:
        tasks: "name", and how many submissions "passed", "failed", "not_started".
        costs: "name", "ratios" (got over reference, one per submission), "allowed" (the limit, in the same terms),
            "kept" (how many are within it). Where there are more than 8, those are drawn in which most are not.
        title: instead of the one that names the hardest task.

    Raises:
        GpukitError: there are no tasks, no submissions, or a ratio is not above or at 0.
    """
    rows = style.need(tasks, ("name", *(part[0] for part in PARTS)), "the class")
    counters = [style.need([row], ("name", "ratios", "allowed", "kept"), "the class's costs")[0] for row in costs]
    if not any(sum(row[part[0]] for part in PARTS) for row in rows):
        raise GpukitError("the figure of a class needs at least one graded submission")
    if any(ratio < 0 for row in counters for ratio in row["ratios"]):
        raise GpukitError("the figure of a class needs ratios that are 0 or more")
    dearest = sorted(range(len(counters)), key=lambda i: counters[i]["kept"] - len(counters[i]["ratios"]))[:MAX_COSTS]
    shown = [counters[i] for i in sorted(dearest)]
    left = len(counters) - len(shown)
    heights = [0.5 * len(rows) + 0.8, 0.62 * len(shown) + 0.9]
    sheet, axes = style.figure(
        title or _title(rows),
        rows=2 if shown else 1,
        height=sum(heights[: 2 if shown else 1]) + (1.3 if shown else 0.8),
        heights=heights if shown else None,
        caption=f"Of {len(counters)} counters the {len(shown)} least kept are shown." if left else "",
    )
    _tasks(axes[0], rows)
    if shown:
        _costs(axes[1], shown)
    return sheet


def _title(rows: Sequence[Row]) -> str:
    hardest = min(rows, key=lambda row: row["passed"] / max(1, sum(row[part[0]] for part in PARTS)))
    total = sum(hardest[part[0]] for part in PARTS)
    if hardest["passed"] == total:
        return f"All {total} graded submissions passed every task"
    return f"Task {hardest['name']} is the hardest: {hardest['passed']} of {total} graded submissions passed it"


def _tasks(axis: Axes, rows: Sequence[Row]) -> None:
    total = max(sum(row[part[0]] for part in PARTS) for row in rows)
    for place, row in enumerate(rows):
        start = 0
        for key, colour, hatch, ink, _ in PARTS:
            part = row[key]
            if not part:
                continue
            axis.barh(place, part, left=start, color=colour, hatch=hatch, edgecolor=PAPER, height=0.72, linewidth=0.8)
            if part / total >= 0.04:
                label = axis.text(
                    start + part / 2,
                    place,
                    str(part),
                    ha="center",
                    va="center_baseline",
                    fontsize=style.text_size(),
                    color=ink,
                )
                if hatch:
                    label.set_bbox({"facecolor": colour, "edgecolor": "none", "pad": 1.5})
            start += part
    axis.set_yticks(range(len(rows)), [style.plain(style.shortened(str(row["name"]), NAME_LENGTH)) for row in rows])
    axis.set_ylim(len(rows) - 0.45, -0.55)
    axis.set_xlim(0, total)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    style.label(axis, "graded submissions")
    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor=PAPER, label=name)
        for key, colour, hatch, _, name in PARTS
        if any(row[key] for row in rows)
    ]
    style.legend(axis, handles, columns=3)


def _costs(axis: Axes, rows: Sequence[Row]) -> None:
    """A row of bars per counter, all on one scale; the line is the reference, a tick the limit."""
    places = [[_bin(ratio) for ratio in row["ratios"]] for row in rows]
    used = [place for row in places for place in row]
    low = min(-BINS_PER_OCTAVE, *used)
    high = max(2 * BINS_PER_OCTAVE, *used, *(_bin(row["allowed"]) for row in rows))
    most = max(row.count(place) for row in places for place in set(row))
    for number, (row, found) in enumerate(zip(rows, places, strict=True)):
        base = number + 0.4
        for place in sorted(set(found)):
            size = 0.72 * found.count(place) / most
            colour = BLUE if place <= _bin(row["allowed"]) else AMBER
            axis.bar(place, -size, bottom=base, width=0.84, color=colour, linewidth=0)
        axis.plot([low - 0.5, high + 0.5], [base, base], color=GREY, linewidth=0.8, zorder=1)
        text = f"{row['kept']} of {len(row['ratios'])}"
        axis.text(
            1.01,
            base - 0.05,
            text,
            transform=axis.get_yaxis_transform(),
            va="bottom",
            fontsize=style.text_size(),
            color=INK,
        )
    axis.text(
        1.01,
        -0.62,
        "within\nthe limit",
        transform=axis.get_yaxis_transform(),
        va="bottom",
        fontsize=style.text_size(),
        color=INK,
    )
    axis.axvline(0, color=INK, linewidth=1.5, linestyle="--", zorder=0)
    axis.set_yticks(
        [number + 0.25 for number in range(len(rows))],
        [style.plain(style.shortened(str(row["name"]), NAME_LENGTH)) for row in rows],
    )
    axis.set_ylim(len(rows) - 0.4, -0.55)
    axis.set_xlim(low - 0.6, high + 0.6)
    octaves = [place for place in range(low, high + 1) if place % BINS_PER_OCTAVE == 0]
    axis.set_xticks(octaves, [_tick(place) for place in octaves])
    axis.spines["left"].set_visible(False)
    style.label(axis, "times the reference solution's (dashed: the same; orange: over the limit)")


def _bin(ratio: float) -> int:
    """The bin that a ratio is in: half an octave wide, those beyond the ends in the last."""
    if ratio <= 0:
        return LOW * BINS_PER_OCTAVE
    return min(max(floor(log2(ratio) * BINS_PER_OCTAVE + 0.5), LOW * BINS_PER_OCTAVE), HIGH * BINS_PER_OCTAVE)


def _tick(place: int) -> str:
    octave = place // BINS_PER_OCTAVE
    text = f"{Fraction(2) ** octave}"
    return f"≤ {text}" if octave == LOW else f"≥ {text}" if octave == HIGH else text
