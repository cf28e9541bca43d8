"""Lanes over time: who works at each step, who could and does not, and whose whole warp waits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path as MarkPath
from matplotlib.ticker import MaxNLocator

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.plots.style import AMBER, BLUE, INK, PALE, PAPER

Trace = Mapping[str, Any]
DONE, WAITING, IDLE, ACTIVE = range(4)
# Told apart by how dark they are, too.
COLOURS = (PAPER, PALE, AMBER, BLUE)
MAX_LINES = 14
MAX_STEPS = 400  # more could not be told apart
MANY_STEPS, MANY_WARPS = 40, 8  # from there on lines between them would cover what they separate
LEAST_LANES_INCHES = 0.4
MAX_LABELS = 8
FINE = 96  # lanes from which on some are thinner than two dots of a slide: sharp edges would leave some out
TEXT_COLUMNS = 36  # characters of a source line
LETTER_POINTS = 0.602  # width of the monospaced font's letters, for each of its points


@dataclass(frozen=True)
class _Panel:
    """What one block of one trace did. `states` is (32 lanes per warp, steps) of ACTIVE and so on."""

    name: str
    states: np.ndarray
    lines: list[int]  # of each step
    texts: dict[int, str]  # line -> source text
    numbers: dict[int, int]
    warps: tuple[int, ...]
    cut_off: bool  # whether the trace ends before the block does

    @property
    def used(self) -> float:
        """Share of the lanes of busy warps that are active, as hardware counts active lanes of 32."""
        active = np.count_nonzero(self.states == ACTIVE)
        return active / (active + np.count_nonzero(self.states == IDLE))


def draw(traces: Any, path: str | Path, **options: Any) -> None:
    """Write the lanes of one or several traces to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(traces, **options), path)


def figure_of(
    traces: Any,
    *,
    warps: Sequence[int] | None = None,
    block: int | None = None,
    only: str = "",
    title: str = "",
) -> Figure:
    """Lanes over steps: blue where a lane works, amber where it is idle in a warp that works, grey where its whole warp
    waits (for its turn, or at a barrier), white where it is done. Above them, the source line of each step.

    Args:
        traces: what `Trace.to_dict()` gives, or a sequence of such to compare.
        warps: warps of the block to show (default: all of them).
        block: number of the thread block (default: the first that was recorded).
        only: show only steps of source lines that contain this text. Where that is one line, the steps are its turns,
            and several traces stand side by side.
        title: instead of the one that states how much of the lanes is used.

    Raises:
        GpukitError: this is no trace, or it has no such block, warp or line.
    """
    several = traces if isinstance(traces, list | tuple) else [traces]
    if not several:
        raise GpukitError("the lanes need at least one trace")
    panels = [_panel(style.trace_of(trace), warps, block, only) for trace in several]
    title = title or _title(panels)
    if all(len(panel.texts) == 1 for panel in panels):
        return _side_by_side(panels, title)
    return _stacked(panels, title)


# --- from the trace --------------------------------------------------------------------------------------------------


def _panel(trace: Trace, warps: Sequence[int] | None, block: int | None, only: str) -> _Panel:
    name = trace["kernel"]
    number = trace["blocks"][0] if block is None else block
    if number not in trace["blocks"]:
        raise GpukitError(f"the trace of {name} has no block {number}; it has {', '.join(map(str, trace['blocks']))}")
    shown = tuple(range(trace["warps_per_block"])) if warps is None else tuple(warps)
    if not shown or not all(0 <= warp < trace["warps_per_block"] for warp in shown):
        raise GpukitError(f"a block of {name} has warps 0 to {trace['warps_per_block'] - 1}; got {list(shown)}")
    steps = [
        step
        for step in trace["steps"]
        if step["block"] == number
        and only in trace["lines"][step["line"]]["text"]
        and any(str(warp) in step["active"] for warp in shown)
    ]
    if not steps:
        what = f"a line with {only!r}" if only else "these warps"
        raise GpukitError(f"the trace of {name} has no step of {what} in block {number}")
    states = np.full((32 * len(shown), len(steps)), WAITING, np.int8)
    for column, step in enumerate(steps):
        for place, warp in enumerate(shown):
            own = states[32 * place : 32 * place + 32, column]
            active = _bits(step["active"], warp)
            if active.any():
                own[:] = np.where(active, ACTIVE, IDLE)
            else:
                own[_bits(step.get("done", {}), warp) | ~_existing(trace, warp)] = DONE
    lines = [step["line"] for step in steps]
    table = trace["lines"]
    cut = bool(trace["truncated"])
    order = sorted(set(lines), key=lambda line: (table[line]["file"], table[line]["number"]))
    texts = {line: table[line]["text"] for line in order}
    return _Panel(name, states, lines, texts, {line: table[line]["number"] for line in order}, shown, cut)


def _bits(masks: Mapping[str, int], warp: int) -> np.ndarray:
    """The lanes of a mask, bool (32,)."""
    return (masks.get(str(warp), 0) >> np.arange(32) & 1).astype(bool)


def _existing(trace: Trace, warp: int) -> np.ndarray:
    """The lanes of a warp that exist: the last warp of a block may be a part of one."""
    return np.arange(32) + 32 * warp < trace["threads_per_block"]


# --- onto the sheet --------------------------------------------------------------------------------------------------


def _side_by_side(panels: Sequence[_Panel], title: str) -> Figure:
    """The turns of one line, a column for each trace."""
    sheet, axes = style.figure(title, len(panels), height=5.06)
    inches = style.width() / len(panels) - 0.6
    headings = [_heading(panel, inches) for panel in panels]
    lines = max(map(len, headings))
    for axis, panel, heading in zip(axes, panels, headings, strict=True):
        _lanes(axis, panel, panel.states.shape[1], first=axis is axes[0])
        heading += [" "] * (lines - len(heading))  # so that all begin at one height
        axis.set_title("\n".join(heading), loc="left", fontsize=style.text_size(), color=INK)
        turns = min(panel.states.shape[1], MAX_STEPS)
        axis.set_xlabel(f"turn of this line{_left_out(panel)}", fontsize=style.text_size(), color=INK)
        axis.set_xticks(_some(turns), [str(turn + 1) for turn in _some(turns)])
    look: dict[str, Any] = {"frameon": False, "fontsize": style.text_size(), "labelcolor": INK}
    sheet.legend(handles=_handles(panels), loc="outside lower left", ncols=4, **look)
    return sheet


def _heading(panel: _Panel, inches: float) -> list[str]:
    """The kernel, how much it uses, and its one line, broken to fit."""
    (text,) = panel.texts.values()
    code = style.wrapped(style.shortened(text.strip(), 100), style.text_size(), inches=inches).splitlines()
    return [f"{style.plain(panel.name)}: {panel.used:.0%} used", *code[:3]]


def _stacked(panels: Sequence[_Panel], title: str) -> Figure:
    """All steps, and above them the source line of each; one trace below the other, on one time scale."""
    most, row_inches, heading_inches, lanes_inches = _division(panels)
    heights = []
    for panel in panels:
        heights += [row_inches * min(len(panel.texts), most) + heading_inches, lanes_inches]
    columns = max(len(text) for panel in panels for text in _shown(panel, most).values())
    text_inches = LETTER_POINTS * style.text_size() / 72 * (columns + 1)
    sheet, axes = style.figure(
        title,
        columns=2,
        widths=[text_inches, style.width() - text_inches],
        rows=2 * len(panels),
        height=1.05 + sum(heights),
        heights=heights,
    )
    steps = min(max(panel.states.shape[1] for panel in panels), MAX_STEPS)
    for place, panel in enumerate(panels):
        text, source, empty, lanes = axes[4 * place : 4 * place + 4]
        empty.set_axis_off()
        _source(text, source, _shown(panel, most), panel.lines, text_inches)
        if len(panels) > 1:
            heading = f"{style.plain(panel.name)}: {panel.used:.0%} used"
            source.set_title(heading, loc="left", fontsize=style.text_size(), fontweight="bold", color=INK)
        _lanes(lanes, panel, steps, first=True, labels=int(lanes_inches / 0.19) if style.is_slide() else MAX_LABELS)
        for axis in (source, lanes):
            axis.set_xlim(-0.5, steps - 0.5)
        if place == len(panels) - 1:
            left_out = next(
                (text for text in map(_left_out, panels) if text),
                ", in order" if style.is_slide() else ", in the order of execution",
            )
            lanes.set_xlabel(f"step (one source line{left_out})", fontsize=style.text_size(), color=INK)
        else:
            lanes.set_xticks([])
    # The legend has the room to the left of the last panel's lanes.
    style.legend(axes[-2], _handles(panels), columns=1, loc="upper left", bbox_to_anchor=(0, 1))
    return sheet


def _division(panels: Sequence[_Panel]) -> tuple[int, float, float, float]:
    """(source lines of a panel at most, inches of each, of a heading, of the lanes), as in a report.

    A slide is only so high: the source gets what it needs, the lanes what is left.
    """
    lanes = 1.9 if len(panels) == 1 else 1.3
    if not style.is_slide():
        return MAX_LINES, 0.21, 0.3, lanes
    row, heading = 0.185, 0.2
    own = (style.sheet_height(99) / style.scale() - 0.65) / len(panels) - heading
    most = max(1, min(int((own - LEAST_LANES_INCHES) / row), MAX_LINES))
    lines = min(max(len(panel.texts) for panel in panels), most)
    return most, row, heading, min(lanes, own - row * lines)


def _shown(panel: _Panel, most: int) -> dict[int, str]:
    """The source lines that have room, those that ran most often, without the indentation that all have."""
    often = sorted(panel.texts, key=panel.lines.count, reverse=True)[:most]
    texts = {line: text for line, text in panel.texts.items() if line in often}
    indent = min(len(text) - len(text.lstrip()) for text in texts.values())
    return {line: style.shortened(text[indent:], TEXT_COLUMNS) for line, text in texts.items()}


def _source(text: Axes, marks: Axes, shown: dict[int, str], lines: list[int], inches: float) -> None:
    """A row for each source line: its text, and a mark at each step that ran it."""
    rows = {line: row for row, line in enumerate(shown)}
    for line, row in rows.items():
        columns = [column for column, ran in enumerate(lines[:MAX_STEPS]) if ran == line]
        marks.broken_barh([(column - 0.5, 1) for column in columns], (row - 0.35, 0.7), color=INK, linewidth=0)
    for axis in (text, marks):
        axis.set_ylim(len(shown) - 0.4, -0.6)
    text.set_axis_off()
    text.set_xlim(0, inches)
    for line, row in rows.items():
        look: dict[str, Any] = {"family": "monospace", "fontsize": style.text_size(), "color": INK, "va": "center"}
        text.text(0, row, style.plain(shown[line]), **look)
    marks.set_xticks([])
    marks.set_yticks(range(len(shown)), [""] * len(shown))
    marks.spines[["bottom", "left"]].set_visible(False)
    marks.set_axisbelow(True)
    marks.grid(axis="y", color=PALE)


def _lanes(axis: Axes, panel: _Panel, steps: int, first: bool, labels: int = MAX_LABELS) -> None:
    """The lanes, lane 0 of the first warp on top, warps separated, and steps too where the axis shows only a few.

    The axis of lanes has room for so many `labels`."""
    states = panel.states[:, :MAX_STEPS]
    rows, columns = states.shape
    if style.is_slide():
        _areas(axis, states)
    else:
        # The nearest colour for each dot: with many lanes, mixed colours would be neither.
        axis.imshow(
            states,
            cmap=ListedColormap(COLOURS),
            vmin=DONE,
            vmax=ACTIVE,
            aspect="auto",
            interpolation="nearest",
            extent=(-0.5, columns - 0.5, rows, 0),
        )
    axis.set_xlim(-0.5, columns - 0.5)
    axis.set_ylim(rows, 0)
    for place in range(1, len(panel.warps)):
        axis.axhline(32 * place, color=PAPER, linewidth=2 if len(panel.warps) <= MANY_WARPS else 0.5)
    if steps <= MANY_STEPS:
        for column in range(1, columns):
            axis.axvline(column - 0.5, color=PAPER, linewidth=1)
    if len(panel.warps) == 1:
        named = (0, 15, 31) if labels > 3 else (0, 31)
        axis.set_yticks([lane + 0.5 for lane in named], [str(lane) for lane in named])
        label = f"lane, warp {panel.warps[0]}"
    else:
        kept = range(0, len(panel.warps), -(-len(panel.warps) // max(1, min(labels, MAX_LABELS))))
        axis.set_yticks([32 * place + 16 for place in kept], [str(panel.warps[place]) for place in kept])
        label = "warp"
    if first:
        axis.set_ylabel(label, fontsize=style.text_size(), color=INK)
    axis.xaxis.set_major_locator(MaxNLocator(10, integer=True))


def _areas(axis: Axes, states: np.ndarray) -> None:
    """The states as areas, one shape for each state: an image could not be recoloured for a dark page."""
    open_areas: dict[tuple[int, int, int], int] = {}  # (state, first lane, lane behind the last) -> first column
    closed: dict[int, list[tuple[int, int, int, int]]] = {}
    for column in range(states.shape[1] + 1):
        runs: set[tuple[int, int, int]] = set()
        if column < states.shape[1]:
            edges = [0, *(np.flatnonzero(np.diff(states[:, column])) + 1).tolist(), len(states)]
            runs = {(int(states[a, column]), a, b) for a, b in itertools.pairwise(edges)}
        for run in sorted(set(open_areas) - runs):
            closed.setdefault(run[0], []).append((open_areas.pop(run), column, *run[1:]))
        for run in runs - set(open_areas):
            open_areas[run] = column
    for state, areas in closed.items():
        if state == DONE:
            continue
        corners = [[(x - 0.5, a), (end - 0.5, a), (end - 0.5, b), (x - 0.5, b), (x - 0.5, a)] for x, end, a, b in areas]
        shape = MarkPath(np.concatenate(corners), np.tile([1, 2, 2, 2, 79], len(areas)).astype(np.uint8))
        axis.add_patch(PathPatch(shape, facecolor=COLOURS[state], linewidth=0, antialiased=len(states) > FINE))


def _left_out(panel: _Panel) -> str:
    """What to add to the name of the time axis where it does not show all steps."""
    steps = panel.states.shape[1]
    if steps > MAX_STEPS:
        return f", the first {MAX_STEPS} of {steps:,}" + (" or more" if panel.cut_off else "")
    return ", cut off before the end" if panel.cut_off else ""


def _some(n: int) -> list[int]:
    """Turns of n to be labelled, from 0; their labels count from 1: all of a few, else 1, 20, 40, ..., about ten."""
    step = next(step for size in range(9) for step in (10**size, 2 * 10**size, 5 * 10**size) if n <= 10 * step)
    return list(range(0, n, step)) if step < 5 else [0, *range(step - 1, n, step)]


def _handles(panels: Sequence[_Panel]) -> list[Patch]:
    names = {
        ACTIVE: "active",
        IDLE: "idle, warp busy (lost)",
        WAITING: "warp waits (free)",
        DONE: "done",
    }
    there = {state for panel in panels for state in np.unique(panel.states).tolist()}
    return [
        Patch(facecolor=COLOURS[state], edgecolor=INK, linewidth=0.6, label=name)
        for state, name in names.items()
        if state in there
    ]


def _title(panels: Sequence[_Panel]) -> str:
    ranked = sorted(panels, key=lambda panel: panel.used)
    worst, best = ranked[0], ranked[-1]
    if len(panels) > 1 and f"{worst.used:.0%}" == f"{best.used:.0%}":
        names = " and ".join(f"'{panel.name}'" for panel in panels)
        return f"{names} use {best.used:.0%} of the lanes of their busy warps"
    what = f"'{best.name}' uses {best.used:.0%} of the lanes of its busy warps"
    return what if len(panels) == 1 else f"{what}, '{worst.name}' {worst.used:.0%}"
