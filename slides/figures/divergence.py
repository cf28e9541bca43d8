"""Figures of the deck on divergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

import gpukit
from gpukit.kernels import divergence, purchases
from gpukit.plots import activity, style
from gpukit.plots.style import AMBER, BLUE, INK, PALE
from gpukit.slides.stepper import Stepper

from ..numbers import common

TWO_WARPS = 64
CUSTOMERS = 256  # one block
SEED = 2


# --- two sides -------------------------------------------------------------------------------------------------------


def two_sides() -> Figure:
    """Two warps of by_lane and of by_warp: a row per source line, a cell per lane, and how many lanes work."""
    kernels = (divergence.by_lane, divergence.by_warp)
    sheet, axes = style.figure("", rows=2, height=4.0)
    for axis, kernel in zip(axes, kernels, strict=True):
        _lanes_of(axis, kernel)
    handles = [
        Patch(facecolor=BLUE, label="works"),
        Patch(facecolor=AMBER, label="idle, and its warp is busy"),
        Patch(facecolor=PALE, label="its warp does not come here"),
    ]
    place: dict[str, Any] = {"loc": "outside lower left", "ncols": 3, "frameon": False}
    sheet.legend(handles=handles, fontsize=style.text_size(), labelcolor=INK, **place)
    return sheet


def steps() -> Stepper:
    """by_lane, step by step."""
    x, y = np.arange(TWO_WARPS, dtype=np.int32), np.zeros(TWO_WARPS, np.int32)
    return Stepper.of(gpukit.trace(divergence.by_lane, 1, TWO_WARPS, x, y), warps=(0, 1), title="by_lane, step by step")


def _lanes_of(axis: Axes, kernel: Any) -> None:
    """Source lines that lanes of two warps carry out, in the order of the source."""
    x, y = np.arange(TWO_WARPS, dtype=np.int32), np.zeros(TWO_WARPS, np.int32)
    trace = gpukit.trace(kernel, 1, TWO_WARPS, x, y).to_dict()
    masks: dict[int, list[int]] = {}
    for step in trace["steps"]:
        of_line = masks.setdefault(step["line"], [0, 0])
        for warp, mask in step["active"].items():
            of_line[int(warp)] |= mask
    order = sorted(masks, key=lambda line: trace["lines"][line]["number"])
    look: dict[str, Any] = {"fontsize": style.text_size(), "color": INK}
    for row, line in enumerate(order):
        for warp, mask in enumerate(masks[line]):
            for lane in range(32):
                colour = BLUE if mask >> lane & 1 else AMBER if mask else PALE
                axis.add_patch(Rectangle((warp * 33.5 + lane, row), 0.9, 0.84, facecolor=colour, linewidth=0))
        counts = " and ".join(str(mask.bit_count()) for mask in masks[line])
        axis.text(67, row + 0.42, counts, va="center", **look)
        text = trace["lines"][line]["text"].rstrip().removeprefix("    ")
        axis.text(-42, row + 0.42, text, va="center", family="monospace", **look)
    axis.set_xlim(-42, 81)
    axis.set_ylim(len(order), 0)
    axis.set_axis_off()
    axis.text(-42, -0.15, kernel.py_func.__name__, fontweight="bold", va="bottom", **look)
    for warp in range(2):
        axis.text(warp * 33.5, -0.15, f"warp {warp}, lanes 0 to 31", va="bottom", **look)
    axis.text(67, -0.15, "lanes", va="bottom", **look)


def kinds() -> Figure:
    """Time of the k-way branch by how many kinds lie in a warp, and the lanes that work."""
    sheet, (axis,) = style.figure("", height=4.3)
    python = [rung for rung in common.rungs("switch").values() if rung["language"] == "numba"]
    values = [rung["timing"]["median_s"] * 1e3 for rung in python]
    least = values[-1]
    _work_and_wait(axis, [least] * len(python), [value - least for value in values], 0.62)
    for place, (rung, value) in enumerate(zip(python, values, strict=True)):
        lanes = common.counters("switch", rung["key"])["active_lanes_per_instruction"]
        told = f"  {value:.1f} ms, {lanes:.1f} of 32 lanes at work"
        axis.text(value, place, told, va="center", fontsize=style.text_size(), color=INK)
    names = [rung["name"].removeprefix("kinds_") for rung in python]
    axis.set_yticks(range(len(python)), [f"{name} kind{'s' * (name != '1')}" for name in names])
    axis.invert_yaxis()
    axis.set_xlim(0, max(values) * 1.62)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    return sheet


# --- loops -----------------------------------------------------------------------------------------------------------


def loops() -> Figure:
    """One block of 256 customers, as they came and grouped: lanes at each turn of the loop."""
    offsets, amounts = customers()
    totals = np.zeros(CUSTOMERS, np.int32)
    order = purchases.order_of_groups(offsets)
    before = gpukit.trace(purchases.customer_per_thread, 1, CUSTOMERS, offsets, amounts, totals)
    after = gpukit.trace(purchases.grouped, 1, CUSTOMERS, offsets, amounts, order, totals)
    return activity.figure_of([before.to_dict(), after.to_dict()], only="+=")


def five_customers() -> Figure:
    """Customers with 2, 5, 20, 100 and 4 purchases: how long each lane works, and how long it waits."""
    lengths = purchases.FIRST
    sheet, (axis,) = style.figure("", height=2.9)
    longest = max(lengths)
    labels = ("adds a purchase", "idle: the warp goes on for lane 3")
    _work_and_wait(axis, lengths, [longest - length for length in lengths], 0.7, labels)
    axis.set_yticks(range(len(lengths)), [f"lane {lane}: {length}" for lane, length in enumerate(lengths)])
    axis.invert_yaxis()
    axis.set_xlim(0, longest)
    axis.set_xticks([1, *range(20, longest + 1, 20)])
    axis.set_xlabel("turn of the loop", fontsize=style.text_size(), color=INK)
    style.legend(axis, axis.get_legend_handles_labels()[0], columns=2)
    return sheet


def customers() -> tuple[np.ndarray, np.ndarray]:
    """Offsets, int32 (257,), and amounts in cents, int32, of 256 customers."""
    rng = np.random.default_rng(SEED)
    offsets = np.concatenate(([0], np.cumsum(purchases.lengths_of(CUSTOMERS, rng)))).astype(np.int32)
    return offsets, rng.integers(0, purchases.DEAREST, offsets[-1]).astype(np.int32)


def _work_and_wait(
    axis: Axes, work: Sequence[float], wait: Sequence[float], height: float, labels: tuple[str, str] = ("", "")
) -> None:
    """A bar for each row: solid while it works, and behind that hatched while it waits."""
    rows = range(len(work))
    axis.barh(rows, work, color=BLUE, height=height, label=labels[0])
    waits: dict[str, Any] = {"color": AMBER, "edgecolor": INK, "linewidth": 0.8, "hatch": "//"}
    axis.barh(rows, wait, left=work, height=height, label=labels[1], **waits)
