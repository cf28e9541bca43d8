"""Figures of the deck on APOD and the roofline: the loop, the 40x trap, Amdahl's curves, roofs, occupancy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from gpukit import occupancy, roofline
from gpukit.plots import roofs, speed_up, style
from gpukit.plots.style import BLUE, GREY, INK, PALE, SKY, VERMILION
from gpukit.slides import gpu

from ..numbers import common
from . import shapes

STEPS = (
    ("Assess", "profile the whole;", "find the hot spot"),
    ("Parallelize", "the simplest kernel", "that is right"),
    ("Optimize", "one hypothesis,", "one change, a log"),
    ("Deploy", "validate on real", "data; ship the gain"),
)


def loop() -> Figure:
    """The four steps of APOD, and the way back to the first."""
    sheet, (axis,) = style.figure("Assess, parallelize, optimize, deploy", height=2.9)
    shapes.bare(axis, (0, 40), (-3.4, 6.4))
    size = style.text_size()
    for k, (name, *about) in enumerate(STEPS):
        left = 0.4 + 10 * k
        axis.add_patch(FancyBboxPatch((left, 0), 8.4, 5.6, boxstyle="round,pad=0,rounding_size=0.5", fc=SKY, ec="none"))
        ink = style.ink_on(SKY)
        axis.text(left + 4.2, 4.2, name, ha="center", va="center", fontsize=1.35 * size, fontweight="bold", color=ink)
        axis.text(left + 4.2, 1.7, "\n".join(about), ha="center", va="center", fontsize=size, color=ink)
        if k:
            shapes.arrow(axis, (left - 1.5, 2.8), (left - 0.1, 2.8), mutation_scale=26, linewidth=3)
    shapes.arrow(axis, (34.6, -0.2), (4.6, -0.2), connectionstyle="arc3,rad=-0.1", mutation_scale=26, linewidth=3)
    axis.text(
        19.6, -2.9, "again, as long as it pays", ha="center", va="center", fontsize=size, color=INK, style="italic"
    )
    return sheet


def trap() -> Figure:
    """80 s of filter and 20 s of reading, before and after the filter became 40 times faster."""
    rows = (("before", 80.0, 20.0), ("filter 40x faster", 80 / 40, 20.0), ("filter takes no time", 0.0, 20.0))
    sheet, (axis,) = style.figure("The 40x trap", height=3.3)
    size = style.text_size()
    for place, (_, part, rest) in enumerate(rows):
        axis.barh(place, rest, color=GREY, height=0.6, label="reading, 20 s" if not place else None)
        axis.barh(place, part, left=rest, color=BLUE, height=0.6, label="filter" if not place else None)
        whole = f"{part + rest:g} s"
        if place:
            whole += f" = {100 / (part + rest):.1f}x"
        axis.text(part + rest + 1, place, whole, va="center", fontsize=1.15 * size, fontweight="bold", color=INK)
    axis.set_yticks(range(len(rows)), [name for name, *_ in rows])
    axis.invert_yaxis()
    axis.set_xlim(0, 118)
    style.label(axis, "seconds of the whole program")
    style.legend(axis, axis.get_legend_handles_labels()[0], 2)
    return sheet


def amdahl() -> Figure:
    """Amdahl's curves for 50, 90 and 99 % of the time made faster."""
    return speed_up.figure_of(shares=roofline.PARALLEL)


def under_the_roof() -> Figure:
    """Sums and a matrix product under the roofline of an H200, with the ceilings measured beside the sums."""
    points = [
        *_points("reduction", {"naive": "naive sum", "shuffle": "shuffle", "coarsened": "coarsened"}),
        *_points("matmul", {"tiled_16": "tiled product", "library": "cuBLAS"}),
    ]
    measured = {f"{name}_gb_s": speed for name, speed in common.bench("reduction")["ceilings"].items()}
    return roofs.figure_of(points, gpu("H200").to_dict() | measured)


def three_times() -> Figure:
    """What a sum of 2 GiB takes, beside what its bytes take by the data sheet, by a copy and by a kernel that reads."""
    result = common.bench("reduction")
    moved = 4 * result["n"]
    rows = [
        ("shuffle", common.seconds("reduction", "shuffle"), VERMILION),
        ("a copy's bandwidth", moved / result["ceilings"]["copy"] / 1e9, GREY),
        ("a read's bandwidth", moved / result["ceilings"]["read"] / 1e9, GREY),
        ("data sheet", roofline.floor_seconds(moved, result["n"], gpu("H200")), INK),
    ]
    sheet, (axis,) = style.figure("What 2 GiB take", height=3.1)
    style.bars(
        axis, [row[0] for row in rows], [row[1] * 1e6 for row in rows], [row[2] for row in rows], "", "{:,.0f} us"
    )
    return sheet


def resident_warps() -> Figure:
    """Warps that an SM of an H200 holds, by the registers of a thread, for blocks of 256 threads."""
    registers = np.arange(16, 256)
    held = [occupancy.occupancy(256, registers=int(count), gpu=gpu("H200")).warps_per_sm for count in registers]
    sheet, (axis,) = style.figure("Registers limit the warps that an SM holds", height=3.5)
    axis.step(registers, held, where="post", color=BLUE, linewidth=3)
    axis.fill_between(registers, held, step="post", color=BLUE, alpha=0.15, linewidth=0)
    for count in (32, 64, 128):
        warps = occupancy.occupancy(256, registers=count, gpu=gpu("H200")).warps_per_sm
        axis.plot([count], [warps], "o", color=VERMILION, markersize=10, zorder=4)
        axis.annotate(
            f"{count} registers: {warps} warps",
            (count, warps),
            xytext=(14, 6),
            textcoords="offset points",
            va="bottom",
            fontsize=style.text_size(),
            color=INK,
        )
    axis.set_xlim(16, 255)
    axis.set_ylim(0, 76)
    axis.set_yticks([0, 16, 32, 48, 64])
    axis.grid(axis="y", color=PALE)
    axis.set_axisbelow(True)
    style.label(axis, "registers of a thread", "warps of an SM")
    return sheet


# --- help ------------------------------------------------------------------------------------------------------------


def _points(family: str, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rungs as points: what they must move at least, and what they compute."""
    rungs = common.rungs(family)
    return [
        {
            "name": name,
            "flops_per_byte": rungs[key]["flops"] / rungs[key]["bytes_moved"],
            "bandwidth_gb_s": rungs[key]["bandwidth_gb_s"],
        }
        for key, name in names.items()
    ]
