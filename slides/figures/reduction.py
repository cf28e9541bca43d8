"""Figures of the deck on the ladder of reductions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

import gpukit
from gpukit.kernels import reduction
from gpukit.plots import activity, bank_map, style, waterfall
from gpukit.plots.style import AMBER, BLUE, GREY, INK, PALE, SKY

from ..numbers import common


def tree() -> Figure:
    """A tree over 16 elements, from all of them down to one."""
    elements = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3])
    leaves = len(elements)
    sheet, (axis,) = style.figure("", height=3)
    size = style.text_size()
    values = elements
    places = [float(i) for i in range(leaves)]
    row = 0
    while True:
        for place, value in zip(places, values, strict=True):
            fill = PALE if row == 0 else BLUE
            axis.add_patch(Rectangle((place - 0.36, -row - 0.3), 0.72, 0.6, facecolor=fill, linewidth=0, zorder=3))
            ink = {"color": style.ink_on(fill), "zorder": 4}
            axis.text(place, -row, str(value), ha="center", va="center_baseline", fontsize=size, **ink)
        if len(values) == 1:
            break
        pairs = list(zip(places[::2], places[1::2], strict=True))
        row += 1
        for left, right in pairs:
            for place in (left, right):
                axis.plot([place, (left + right) / 2], [1 - row, -row], "-", color=GREY, linewidth=2, zorder=1)
        working = len(pairs)
        plural = "s" if working > 1 else ""
        told = f"{working} thread{plural} of {leaves // 2}"
        axis.text(leaves - 0.2, -row, told, va="center_baseline", fontsize=size, color=INK)
        axis.text(-0.8, -row, f"step {row}", ha="right", va="center_baseline", fontsize=size, color=INK)
        values = values.reshape(-1, 2).sum(1)
        places = [(left + right) / 2 for left, right in pairs]
    axis.set_xlim(-2.2, leaves + 2.6)
    axis.set_ylim(-row - 0.5, 0.5)
    axis.axis("off")
    return sheet


def naive_and_compact() -> Figure:
    """The additions of both trees, lane by lane, in a block of two warps."""
    traces = []
    for kernel in (reduction.naive, reduction.compact):
        data, partial = np.ones(128, np.int32), np.zeros(1, np.int32)
        traces.append(gpukit.trace(kernel, 1, 64, data, partial).to_dict())
    return activity.figure_of(traces, only="+= data")


def banks() -> Figure:
    """How many words each bank must give in the first three steps of two trees in shared memory."""
    rows: list[tuple[str, np.ndarray, int]] = []
    for kernel, name in ((reduction.shared_strided, "strided"), (reduction.shared_sequential, "sequential")):
        data, partial = np.ones(256, np.float32), np.zeros(1, np.float32)
        trace = gpukit.trace(kernel, 1, 256, data, partial, shared_bytes=1024).to_dict()
        for step, request in enumerate(_first_loads(trace, 3), 1):
            rows.append((f"{name}, step {step}", bank_map.words_of(trace, request), request["wavefronts"]))
    sheet, (axis,) = style.figure("", height=3)
    size = style.text_size()
    for place, (_, words, wavefronts) in enumerate(rows):
        for bank, count in enumerate(words.tolist()):
            fill = AMBER if count > 1 else SKY if count else PALE
            axis.add_patch(Rectangle((bank + 0.04, place - 0.44), 0.92, 0.88, facecolor=fill, linewidth=0))
            if count:
                ink = {"color": style.ink_on(fill), "fontweight": "bold" if count > 1 else "normal"}
                axis.text(bank + 0.5, place, str(count), ha="center", va="center", fontsize=size, **ink)
        axis.text(33.6, place, f"{wavefronts}", ha="right", va="center", fontsize=size, color=INK)
    axis.text(35, -0.75, "wavefronts", va="bottom", ha="right", fontsize=size, color=INK)
    axis.set_xlim(0, 35)
    axis.set_ylim(len(rows) - 0.45, -0.6)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.set_xticks([])
    axis.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    handles = [Patch(color=SKY, label="1 word of a bank"), Patch(color=AMBER, label="2 or more: conflict")]
    handles.append(Patch(color=PALE, label="not asked"))
    style.legend(axis, handles, columns=3)
    return sheet


def _first_loads(trace: Mapping[str, Any], steps: int) -> list[Mapping[str, Any]]:
    """The first load of warp 0 from the tile in each of the first steps of the tree."""
    found = [r for r in trace["requests"] if r["space"] == "shared" and r["kind"] == "load" and r["warp"] == 0]
    return found[: 2 * steps : 2]  # each step loads two elements, with the same conflicts


def ladder() -> Figure:
    """The rungs from the first to the best, and the library."""
    shown = (
        "naive",
        "sequential",
        "shared_sequential",
        "first_add",
        "last_warp_shuffle",
        "unrolled",
        "shuffle",
        "grid_stride",
        "coarsened",
        "cpp:vectorized_unrolled",
        "cupy_sum",
    )
    rungs = common.rungs("reduction")
    against = {"shuffle": "last_warp_shuffle", "grid_stride": "shuffle"}  # the others: the row above
    rows = [
        {
            "name": key,
            "language": rungs[key]["language"],
            "bandwidth_gb_s": rungs[key]["bandwidth_gb_s"],
            "against": against.get(key),
        }
        for key in shown
    ]
    return waterfall.figure_of(rows, ceilings=common.bench("reduction")["ceilings"])
