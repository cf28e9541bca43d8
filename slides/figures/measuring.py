"""Figures of the deck on measuring."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gpukit.plots import grid_sweep, style
from gpukit.plots.style import AMBER, BLUE, GREEN, GREY, INK, PALE, PAPER
from gpukit.slides import gpu, recording

from ..numbers import common


def _rates() -> dict[str, float]:
    """GB/s of the sums by their rungs' keys."""
    return {key: rung["bandwidth_gb_s"] for key, rung in common.rungs("reduction").items()}


def launch_cost() -> Figure:
    """What two events say of one kernel at four sizes: its own time, and what the GPU waits for the host."""
    rows = [row for row in recording("data/results/h200_launch_cost.json")["rows"] if row["rung"] == "grid_stride"]
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
    rates = _rates()
    ceilings = common.bench("reduction")["ceilings"]
    copy = ceilings["copy"]
    bars = [
        ("copy: reads and writes", copy, PALE),
        ("grid_stride", rates["grid_stride"], BLUE),
        ("coarsened", rates["coarsened"], BLUE),
        ("cpp:vectorized_unrolled", rates["cpp:vectorized_unrolled"], BLUE),
        ("a kernel that only reads", ceilings["read"], PALE),
        ("data sheet", gpu("H200").bandwidth_gb_s, GREEN),
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
    record = common.bench("reduction")
    names = ("grid_stride", "coarsened", "cpp:vectorized_unrolled")
    rows = [
        {"name": row["rung"], "blocks": row["blocks"], "bandwidth_gb_s": row["bandwidth_gb_s"]}
        for row in record["sweep"]["rows"]
        if row["rung"] in names
    ]
    return grid_sweep.figure_of(rows, sms=record["machine"]["sms"], ceiling_gb_s=record["ceilings"]["copy"])


def a100() -> Figure:
    """A published ladder as shares of the data sheet's bandwidth, ours beside it."""
    rates = _rates()
    ladder = recording("data/results/published_reductions.json", "ladders[gpu=A100 SXM 80GB]")
    peak = gpu("H200").bandwidth_gb_s or 1
    sheet, (axis,) = style.figure("", height=3.7)
    size = style.text_size()
    names = []
    for place, (key, share) in enumerate(ladder["values"].items()):
        in_cpp = f"cpp:{key.removeprefix('cpp:')}"
        ours = rates.get(in_cpp, rates.get(key, 0)) / peak
        names.append(ladder["published_names"].get(key, key))
        for offset, value, colour in ((-0.2, share, GREY), (0.2, ours, BLUE)):
            axis.barh(place + offset, value, color=colour, height=0.38)
        told = f"{share:.0%} and {ours:.0%}"
        axis.text(max(share, ours) + 0.01, place, told, va="center", fontsize=size, color=INK)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlim(0, 1.15)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    handles = [Patch(color=GREY, label="A100, published"), Patch(color=BLUE, label="H200 (from two loads on in C++)")]
    style.legend(axis, handles, columns=2)
    return sheet


def per_multiprocessor() -> Figure:
    """What each card's memory gives a multiprocessor."""
    sheet, (axis,) = style.figure("", height=2)
    size = style.text_size()
    names = ("T4", "A100 SXM 80GB", "H200")
    for place, name in enumerate(names):
        one = gpu(name)
        bandwidth, sms = one.bandwidth_gb_s or 0, one.sms or 1
        axis.barh(place, bandwidth / sms, color=BLUE if name == "H200" else GREY, height=0.62)
        told = f"{bandwidth:,.0f} GB/s / {sms} SMs = {bandwidth / sms:.0f} GB/s an SM"
        axis.text(bandwidth / sms + 0.5, place, told, va="center", fontsize=size, color=INK)
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlim(0, 66)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    return sheet
