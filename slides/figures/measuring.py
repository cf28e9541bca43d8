"""Figures of the deck on measuring."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gpukit import gpus
from gpukit.plots import grid_sweep, style
from gpukit.plots.style import AMBER, BLUE, GREEN, GREY, INK, PAPER

_ROOT = Path(__file__).parents[2]


def _read(name: str) -> Mapping[str, Any]:
    return json.loads((_ROOT / "data/results" / name).read_text(encoding="utf-8"))


def launch_cost() -> Figure:
    """What two events say of one kernel at four sizes: its own time, and what the GPU waits for the host."""
    rows = [row for row in _read("h200_launch_cost.json")["rows"] if row["rung"] == "grid_stride"]
    sheet, (axis,) = style.figure("", height=3.2)
    size = style.text_size()
    for place, row in enumerate(rows):
        kernel, all_of_it = 1e6 * row["held_s"], 1e6 * row["free_s"]
        axis.barh(place, kernel, color=BLUE, height=0.62)
        axis.barh(
            place,
            all_of_it - kernel,
            left=kernel,
            color=PAPER,
            edgecolor=AMBER,
            hatch="///",
            height=0.62,
            linewidth=1.5,
        )
        told = f"{all_of_it:,.0f} us for {kernel:,.0f} us"
        axis.text(all_of_it + 8, place, told, va="center", fontsize=size, color=INK)
    axis.set_yticks(range(len(rows)), [f"{4 * row['n'] >> 20:,} MiB" for row in rows])
    axis.set_ylim(len(rows) - 0.5, -0.6)
    axis.set_xlim(0, 900)
    style.label(axis, "time between two events (us)")
    handles = [Patch(color=BLUE, label="the kernel"), Patch(facecolor=PAPER, edgecolor=AMBER, hatch="///")]
    handles[1].set_label("the GPU waits for the launch")
    style.legend(axis, handles, columns=2)
    return sheet


def ceilings() -> Figure:
    """A sum beside a copy, a kernel that only reads, and the data sheet."""
    record = _read("bench_h200_reduction.json")
    rungs = {rung["key"]: rung["bandwidth_gb_s"] for rung in record["rungs"]}
    copy, read = record["ceilings"]["copy"], record["ceilings"]["read"]
    bars = [
        ("copy: reads and writes", copy, GREY),
        ("grid_stride", rungs["grid_stride"], BLUE),
        ("coarsened", rungs["coarsened"], BLUE),
        ("cpp:vectorized_unrolled", rungs["cpp:vectorized_unrolled"], BLUE),
        ("a kernel that only reads", read, GREY),
        ("data sheet", gpus.find_gpu("H200").bandwidth_gb_s, GREEN),
    ]
    sheet, (axis,) = style.figure("", height=3)
    size = style.text_size()
    for place, (_, value, colour) in enumerate(bars):
        axis.barh(place, value, color=colour, height=0.62)
        told = f"{value:,.0f} GB/s, {value / copy:.0%} of the copy"
        axis.text(60, place, told, va="center", fontsize=size, color=style.ink_on(colour))
    axis.axvline(copy, linestyle="--", color=INK, linewidth=1.5, zorder=3)
    axis.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    axis.set_ylim(len(bars) - 0.5, -0.5)
    axis.set_xlim(0, 5000)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    return sheet


def sweep() -> Figure:
    """Bandwidth over the number of blocks: a slope, a flat part, and a small rise."""
    record = _read("bench_h200_reduction.json")
    names = ("grid_stride", "coarsened", "cpp:vectorized_unrolled")
    rows = [
        {"name": row["rung"], "blocks": row["blocks"], "bandwidth_gb_s": row["bandwidth_gb_s"]}
        for row in record["sweep"]["rows"]
        if row["rung"] in names
    ]
    return grid_sweep.figure_of(rows, sms=record["machine"]["sms"], ceiling_gb_s=record["ceilings"]["copy"])
