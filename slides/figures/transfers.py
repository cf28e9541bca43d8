"""Figures of the deck on transfers, drawn from recorded times of an H200."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from gpukit.kernels.transfer import CHUNKS, STREAMS
from gpukit.plots import style
from gpukit.slides import recording

from ..numbers import common
from . import shapes

COLOURS = {"copy in": style.BLUE, "kernel": style.VERMILION, "copy out": style.SKY}


def seconds() -> dict[str, float]:
    """The median times of the recorded bench by the keys of its rungs."""
    return {key: rung["timing"]["median_s"] for key, rung in common.rungs("transfer").items()}


def of_a_t4() -> Mapping[str, Any]:
    """The published times of a sum, in milliseconds."""
    return recording("data/results/published_transfers.json")["transfers"][0]


def published() -> Figure:
    """The CPU's time, and the GPU's with its copies, as published for a T4."""
    one = of_a_t4()
    cpu = one["kernel_ms"] * one["kernel_over_cpu"]
    sheet, (axis,) = style.figure("", height=2.2)
    axis.barh(0, cpu, height=0.6, color=style.GREY)
    shapes.words(axis, cpu + 0.5, 0, f"{cpu:.1f} ms", ha="left")
    left = 0.0
    for name, colour in COLOURS.items():
        value = one[f"{name.replace(' ', '_')}_ms"]
        axis.barh(1, value, left=left, height=0.6, color=colour)
        left += value
    shapes.words(axis, one["copy_in_ms"] / 2, 1, "copy in", color=style.ink_on(COLOURS["copy in"]))
    shapes.words(axis, left + 0.5, 1, f"{left:.1f} ms, the kernel {one['kernel_ms']:.2f} of it", ha="left")
    axis.set_yticks((0, 1), ("CPU", "T4"))
    axis.set_ylim(1.5, -0.5)
    axis.set_xlim(0, 1.2 * cpu)
    style.label(axis, "milliseconds")
    return sheet


def to_scale() -> Figure:
    """Copy in, kernel, copy out as parts of one bar each, on an axis of milliseconds."""
    times, published = seconds(), of_a_t4()
    kernel = 1e3 * times["scaled"]
    rows = {
        "H200, pageable": (1e3 * times["to_gpu_pageable"], kernel, 1e3 * times["to_host_pageable"]),
        "H200, pinned": (1e3 * times["to_gpu_pinned"], kernel, 1e3 * times["to_host_pinned"]),
        "T4, published": tuple(published[f"{part}_ms"] for part in ("copy_in", "kernel", "copy_out")),
    }
    sheet, (axis,) = style.figure("", height=3.1)
    for place, parts in enumerate(rows.values()):
        left = 0.0
        for (name, colour), value in zip(COLOURS.items(), parts, strict=True):
            axis.barh(place, value, left=left, height=0.6, color=colour)
            if name != "kernel" and value > 2:
                shapes.words(axis, left + value / 2, place, f"{value:.1f}", color=style.ink_on(colour))
            left += value
        shapes.words(axis, left + 0.5, place, f"kernel {parts[1]:.2f} ms", ha="left")
    axis.set_yticks(range(len(rows)), list(rows))
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(0, 60)
    style.label(axis, "milliseconds (H200: 256 MiB each way; T4: 64 MiB in, one number out)")
    style.legend(axis, [Patch(color=colour, label=name) for name, colour in COLOURS.items()], columns=3)
    return sheet


def roads() -> Figure:
    """The bandwidth of the GPU's memory and that of the bus, on one axis."""
    found = common.bench("transfer")
    rows = {
        "the GPU's memory": (found["ceilings"]["copy"], style.BLUE, "a copy"),
        "the bus": (common.rung("transfer", "to_gpu_pinned")["bandwidth_gb_s"], style.VERMILION, "pinned, each way"),
    }
    sheet, (axis,) = style.figure("", height=1.9)
    for place, (value, colour, what) in enumerate(rows.values()):
        axis.barh(place, value, height=0.62, color=colour)
        shapes.words(axis, value + 40, place, f"{value:,.0f} GB/s, {what}", ha="left")
    axis.set_yticks(range(len(rows)), list(rows))
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(0, 6000)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    return sheet


def streams() -> Figure:
    """One stream, and chunks in three, as the recorded times of one copy and one kernel have it."""
    times = seconds()
    whole = [1e3 * times[key] for key in ("to_gpu_pinned", "scaled", "to_host_pinned")]
    sheet, (axis,) = style.figure("", height=3.55)
    left = 0.0
    for (name, colour), value in zip(COLOURS.items(), whole, strict=True):
        axis.barh(0, value, left=left, height=0.7, color=colour, edgecolor=style.PAPER, linewidth=0.6)
        if name != "kernel":
            shapes.words(axis, left + value / 2, 0, name, color=style.ink_on(colour))
        left += value
    parts = [value / CHUNKS for value in whole]
    free = [0.0, 0.0, 0.0]  # when copy engine in, SMs and copy engine out are next free
    for chunk in range(CHUNKS):
        ready = 0.0
        for part, (colour, value) in enumerate(zip(COLOURS.values(), parts, strict=True)):
            start = max(free[part], ready)
            place = 1.4 + chunk % STREAMS
            axis.barh(place, value, left=start, height=0.7, color=colour, edgecolor=style.PAPER, linewidth=0.6)
            if part != 1:
                shapes.words(axis, start + value / 2, place, str(chunk), color=style.ink_on(colour))
            free[part] = ready = start + value
    axis.axvline(ready, ymax=0.74, color=style.INK, linestyle="--", linewidth=1.5)
    shapes.words(axis, ready + 0.1, 2.4, "done", ha="left")
    names = ["one stream", *(f"stream {number}" for number in range(STREAMS))]
    axis.set_yticks([0, *(1.4 + number for number in range(STREAMS))], names)
    axis.set_ylim(1.4 + STREAMS - 0.5, -0.5)
    axis.set_xlim(0, 10.2)
    style.label(axis, "milliseconds, worked out of the recorded times of one copy and one kernel")
    style.legend(axis, [Patch(color=colour, label=name) for name, colour in COLOURS.items()], columns=3)
    return sheet


def ladder() -> Figure:
    """Time from host to host of every rung that ends there, and of the kernel alone."""
    times = seconds()
    rows = {
        "end_to_end_pageable": "one kernel, pageable",
        "end_to_end_pinned": "one kernel, pinned",
        "overlapped": "one kernel, overlapped",
        "round_trips": "four kernels, round trips",
        "resident": "four kernels, resident",
        "scaled": "the kernel alone",
    }
    sheet, (axis,) = style.figure("", height=3.6)
    for place, key in enumerate(rows):
        value = 1e3 * times[key]
        axis.barh(place, value, height=0.62, color=style.GREY if key == "scaled" else style.BLUE)
        shapes.words(axis, value + 0.5, place, f"{value:.1f} ms", ha="left")
    axis.set_yticks(range(len(rows)), list(rows.values()))
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(0, 56)
    style.label(axis, "milliseconds from host to host (less is better)")
    return sheet
