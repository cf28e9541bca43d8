"""The tour's figures: each answers one question, which its title states as a sentence.

The colours are from Okabe and Ito's palette, told apart with any kind of colour vision, and only repeat what words say.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from matplotlib.ticker import FuncFormatter

from gpukit.plots import style
from gpukit.plots.style import BLUE, GREEN, INK, VERMILION
from gpukit.tour.launches import Step
from gpukit.tour.matrix import Matrix

_figure = functools.partial(style.figure, title_size=13, text_size=10)
_bars = functools.partial(style.bars, text_size=10)


def branches(steps: list[Step], path: Path) -> None:
    """Active lanes of every source line that ran, for the branch per lane and the branch per warp."""
    figure, axes = _figure(
        "A branch that splits a warp runs both sides, each with half of the 32 lanes", len(steps), 3.4
    )
    for axis, step in zip(axes, steps, strict=True):
        lines = [line for line in step.report.lines if line.active_lanes is not None]
        lanes = [line.active_lanes or 0.0 for line in lines]
        colours = [GREEN if active > 31.5 else VERMILION for active in lanes]
        names = [line.text.strip() for line in lines]
        _bars(axis, names, lanes, colours, f"{step.name}: active lanes", "{:.0f}")
        axis.tick_params("y", labelfontfamily="monospace", labelsize=9)
    figure.savefig(path)


def reads(steps: list[Step], path: Path) -> None:
    """Sectors per warp load for each pattern, and how much of what moves is used."""
    figure, (sectors, used) = _figure("Lanes that read side by side need 4 sectors; scattered lanes need 32", 2)
    names = [step.name for step in steps]
    loads = [step["global_load_sectors"] / step["global_load_requests"] for step in steps]
    colours = [GREEN if value <= 4 else VERMILION for value in loads]
    _bars(sectors, names, loads, colours, "32-byte sectors per load request", "{:.1f}")
    marked = [(place, step) for place, step in enumerate(steps) if step.hardware]
    readings = [s.hardware["global_load_sectors"] / s.hardware["global_load_requests"] for _, s in marked if s.hardware]
    sectors.plot(readings, [place for place, _ in marked], "|", color=INK, markersize=17, markeredgewidth=2)
    sectors.set_xlabel("black marks: the same load on an H200", fontsize=9, color=INK)
    _bars(
        used, names, [100 * step["load_efficiency"] for step in steps], colours, "bytes used of bytes moved", "{:.1f} %"
    )
    used.set_yticks([])
    figure.savefig(path)


def reductions(steps: list[Step], path: Path) -> None:
    """What each rung of the ladder repairs."""
    figure, axes = _figure(
        "A million integers summed: 'compact' cures divergence, 'sequential' cures sectors",
        3,
        3.2,
    )
    names = [step.name for step in steps]
    panels = (
        ("divergent_branches", "divergent branches"),
        ("global_load_requests", "global load requests"),
        ("global_load_sectors", "global load sectors"),
    )
    for axis, (counter, label) in zip(axes, panels, strict=True):
        _bars(axis, names, [step[counter] for step in steps], [VERMILION, BLUE, GREEN], label)
        if counter != "divergent_branches":
            readings = [step.hardware[counter] for step in steps if step.hardware]
            axis.plot(readings, range(len(steps)), "|", color=INK, markersize=22, markeredgewidth=2)
            axis.set_xlabel("black marks: H200", fontsize=9, color=INK)
        if axis is not axes[0]:
            axis.set_yticks([])
    figure.savefig(path)


def sparse_products(steps: list[Step], matrix: Matrix, path: Path) -> None:
    """Row lengths of one warp, and what the two kernels cost."""
    lengths = matrix.row_lengths
    longest = int(lengths.argmax())
    first = longest // 32 * 32
    rows = np.arange(first, min(first + 32, matrix.rows))
    title = f"One thread per row: 31 lanes wait for the word '{matrix.words[longest]}'"
    figure, (warp, requests, sectors) = _figure(title, 3, 3.6, [1.5, 1, 1])
    warp.bar(
        np.arange(rows.size), lengths[rows], color=[VERMILION if row == longest else BLUE for row in rows], width=0.8
    )
    warp.set_yscale("log")
    warp.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    warp.set_title(
        f"non-zeros per row, rows {rows[0]:,} to {rows[-1]:,} (one warp)", loc="left", fontsize=10.5, color=INK
    )
    warp.set_xlabel("lane", fontsize=10, color=INK)
    warp.annotate(
        f"'{matrix.words[longest]}': {lengths[longest]:,}",
        (longest - first, lengths[longest]),
        xytext=(-8, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=10,
        color=INK,
    )
    names = [step.name.removeprefix("one ") for step in steps]
    _bars(
        requests,
        names,
        [s["active_lanes_per_instruction"] for s in steps],
        [VERMILION, GREEN],
        "active lanes of 32",
        "{:.1f}",
    )
    _bars(sectors, names, [step["global_load_sectors"] for step in steps], [VERMILION, GREEN], "global load sectors")
    sectors.set_yticks([])
    figure.savefig(path)
