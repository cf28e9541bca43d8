"""Figures of the deck on why GPUs are fast, and when."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from gpukit.plots import style
from gpukit.plots.style import AMBER, BLUE, GREEN, GREY, INK, PALE, SKY, VERMILION
from gpukit.slides import gpu, recording

from . import shapes

CROSSOVER = "data/results/h200_crossover.json"
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


# --- times by size ---------------------------------------------------------------------------------------------------


def crossover() -> Figure:
    """c = a + b: NumPy and all cores of the CPU against the GPU, with the data on the GPU."""
    series = (
        ("numpy_s", "NumPy, one core", GREY, "s-"),
        ("cores_s", "16 cores", INK, "o-"),
        ("library_s", "GPU, launch and wait", BLUE, "D-"),
        ("kernel_s", "GPU, kernel alone", BLUE, "D:"),
    )
    return _by_size("add", series, marked=1 << 20)


def with_copies() -> Figure:
    """c = a + b once more, from host to host."""
    series = (
        ("cores_s", "16 cores", INK, "o-"),
        ("library_s", "GPU, data stay there", BLUE, "D-"),
        ("end_to_end_pinned_s", "GPU, host to host, pinned", VERMILION, "^-"),
        ("end_to_end_pageable_s", "GPU, host to host, ordinary", AMBER, "v-"),
    )
    return _by_size("add", series)


def polynomial() -> Figure:
    """128 steps of a polynomial per element: from host to host."""
    series = (
        ("numpy_s", "NumPy, one core", GREY, "s-"),
        ("cores_s", "16 cores", INK, "o-"),
        ("end_to_end_pinned_s", "GPU, host to host, pinned", VERMILION, "^-"),
    )
    return _by_size("polynomial", series, marked=1 << 14)


def _by_size(problem: str, series: Sequence[tuple[str, str, str, str]], marked: int = 0) -> Figure:
    """Seconds over elements, both on logarithmic axes; each line has its name beside its end."""
    rows = recording(CROSSOVER)[problem]
    sheet, (axis,) = style.figure("", height=3.75)
    sizes = [row["n"] for row in rows]
    ends = [rows[-1][key] for key, *_ in series]
    for key, name, colour, look in series:
        axis.plot(sizes, [row[key] for row in rows], look, color=colour, linewidth=2.5, markersize=8, label=name)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_xlim(sizes[0] / 1.5, sizes[-1] * 250)
    low, high = min(min(row[key] for row in rows) for key, *_ in series), max(ends)
    axis.set_ylim(low / 2, high * 3)
    _names(axis, sizes[-1], [name for _, name, *_ in series], ends, low / 2, high * 3)
    if marked:
        axis.axvline(marked, color=GREEN, linewidth=2, linestyle="--", zorder=0)
        axis.text(
            marked / 1.3,
            high * 2,
            f"from {marked:,} on\nthe GPU is first",
            ha="right",
            va="top",
            color=INK,
            fontsize=style.text_size(),
        )
    axis.set_xticks(sizes[::2], [f"{n:,}" for n in sizes[::2]])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_locator(LogLocator(base=10, numticks=12))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    axis.grid(axis="y", color=PALE)
    style.label(axis, "elements", "time")
    axis.xaxis.set_label_coords(0.34, -0.12)
    return sheet


def _names(axis: Axes, x: float, names: Sequence[str], ends: Sequence[float], low: float, high: float) -> None:
    """Each name to the right of its line's end, apart from the others."""
    wanted = [log10(end) for end in ends]
    gap = 0.085 * (log10(high) - log10(low))
    places = style.spread(wanted, gap, log10(low), log10(high))
    for name, place in zip(names, places, strict=True):
        axis.text(x * 1.6, 10**place, name, va="center", fontsize=style.text_size(), color=INK)


def seconds(value: float) -> str:
    """A power of ten in the unit that suits it."""
    for unit, name in UNITS:
        if value >= 0.99 * unit:
            return f"{value / unit:,.0f} {name}"
    return f"{value * 1e6:g} us"


# --- what a chip is made of ------------------------------------------------------------------------------------------


def chips() -> Figure:
    """A CPU and a GPU as areas: what each gives its room to."""
    sheet, axes = style.figure("", columns=2, height=4.4)
    for axis, name in zip(axes, ("CPU", "GPU"), strict=True):
        shapes.bare(axis, (0, 12), (0, 10 * 1.06))
        axis.text(0, 10.25, name, fontsize=style.text_size() * 1.2, fontweight="bold", color=INK)
    cpu, gpu = axes
    for place in range(4):
        x, y = 6.1 * (place % 2), 6.9 - 2.6 * (place // 2)
        shapes.box(cpu, x, y, 5.8, 2.4, AMBER)
        shapes.box(cpu, x + 0.2, y + 0.2, 2.0, 2.0, BLUE, "core")
        cpu.text(
            x + 4.05,
            y + 1.2,
            "branch\nprediction",
            ha="center",
            va="center",
            fontsize=style.text_size(),
            color=style.ink_on(AMBER),
        )
    shapes.box(cpu, 0, 1.6, 11.9, 2.4, SKY, "large cache")
    shapes.box(cpu, 0, 0.1, 11.9, 1.2, PALE, "memory")
    for place in range(30):
        x, y = 1.2 * (place % 10), 7.9 - 1.45 * (place // 10)
        shapes.box(gpu, x, y, 1.05, 1.25, AMBER)
        for unit in range(9):
            shapes.box(gpu, x + 0.1 + 0.3 * (unit % 3), y + 0.12 + 0.35 * (unit // 3), 0.25, 0.28, BLUE)
    shapes.box(gpu, 0, 3.4, 11.85, 1.2, SKY, "L2")
    shapes.box(gpu, 0, 0.1, 11.85, 3.0, PALE, "memory, many times the bandwidth")
    return sheet


def hierarchy() -> Figure:
    """What an H200 holds: SMs with their units, the L2, the global memory, and the host beside it."""
    h200 = gpu("H200")
    sheet, (axis,) = style.figure("", height=4.4)
    shapes.bare(axis, (0, 40), (0, 15 * 1.06))
    for place, name in enumerate(("SM 0", "SM 1", f"SM {(h200.sms or 1) - 1}")):
        x = (0, 10.2, 21.4)[place]
        shapes.box(axis, x, 5.2, 9.6, 9.6, PALE)
        axis.text(x + 0.3, 14.2, name, fontweight="bold", fontsize=style.text_size(), color=INK, va="center")
        shapes.box(axis, x + 0.3, 11.7, 9.0, 1.7, AMBER, "4 warp schedulers")
        shapes.box(axis, x + 0.3, 9.7, 9.0, 1.7, BLUE, f"{h200.fp32_lanes_per_sm} FP32 units")
        shapes.box(axis, x + 0.3, 7.7, 9.0, 1.7, GREEN, f"registers {h200.registers_per_sm * 4 >> 10} KB")
        shapes.box(axis, x + 0.3, 5.5, 9.0, 1.9, SKY, "shared memory, L1")
    axis.text(20.6, 10, "...", ha="center", fontsize=style.text_size() * 1.3, color=INK)
    shapes.box(axis, 0, 3.0, 31.0, 1.7, SKY, f"L2 {(h200.l2_bytes or 0) >> 20} MB")
    shapes.box(axis, 0, 0.2, 31.0, 2.3, GREY, f"global memory, {h200.bandwidth_gb_s:,.0f} GB/s")
    shapes.box(axis, 34.0, 0.2, 6.0, 14.6, PALE, "host:\nCPU and\nits\nmemory")
    axis.annotate("", (34.0, 1.35), (31.0, 1.35), arrowprops={"arrowstyle": "<->", "color": VERMILION, "linewidth": 3})
    axis.text(32.5, 2.0, "bus", ha="center", fontsize=style.text_size(), color=INK)
    return sheet


# --- copies ----------------------------------------------------------------------------------------------------------


def copies() -> Figure:
    """Where the time of a sum of 64 MiB goes, as a share of the whole: a published T4, and our H200."""
    ours = recording(CROSSOVER)["sum"]
    there = recording("data/results/published_transfers.json")["transfers"][0]
    rows = (
        ("T4, published", there["copy_in_ms"], there["kernel_ms"], there["copy_out_ms"]),
        *(
            (name, ours[key] * 1e3, ours["kernel_s"] * 1e3, ours["copy_out_s"] * 1e3)
            for name, key in (
                ("H200, ordinary memory", "copy_in_pageable_s"),
                ("H200, pinned memory", "copy_in_pinned_s"),
            )
        ),
    )
    sheet, (axis,) = style.figure("", height=2.5)
    for place, (_, *parts) in enumerate(rows):
        left = 0.0
        for part, colour in zip(parts, (VERMILION, BLUE, GREEN), strict=True):
            axis.barh(place, part, left=left, color=colour, height=0.6)
            left += part
        axis.text(
            left,
            place,
            f"  {left:.1f} ms, of which the kernel {parts[1] / left:.1%}",
            va="center",
            fontsize=style.text_size(),
            color=INK,
        )
    axis.set_yticks(range(len(rows)), [name for name, *_ in rows])
    axis.invert_yaxis()
    axis.set_xlim(0, 15.2 * 2)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    handles = [
        Rectangle((0, 0), 1, 1, color=colour, label=name)
        for colour, name in ((VERMILION, "copy in"), (BLUE, "kernel"), (GREEN, "copy out"))
    ]
    style.legend(axis, handles, columns=3)
    return sheet
