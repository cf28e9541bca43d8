"""Figures of the deck on execution."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

import gpukit
from gpukit.plots import grid_sweep, style, waterfall
from gpukit.plots.style import AMBER, BLUE, GREEN, GREY, INK, PALE, PAPER, SKY, VERMILION

from ..numbers import common
from . import shapes

ELEMENTS, BLOCK = 700, 256
IMAGE_ROWS, IMAGE_COLUMNS, TILE_ROWS, TILE_COLUMNS = 10, 50, 8, 32
LOAD_STEPS = 7  # how long a load takes in the toy picture of latency hiding


# --- which thread has which element ----------------------------------------------------------------------------------


def covered() -> Figure:
    """700 elements in 3 blocks of 256: a row per warp, a cell per lane, as the machine traced them."""
    mark = common.given("01_execution")["mark"]
    grid = -(-ELEMENTS // BLOCK)
    trace = gpukit.trace(mark, grid, BLOCK, np.zeros(ELEMENTS, np.int32), blocks=range(grid)).to_dict()
    works = np.zeros((grid, BLOCK // 32, 32), bool)
    for step in trace["steps"]:
        if "out[i]" in trace["lines"][step["line"]]["text"]:
            for warp, mask in step["active"].items():
                works[step["block"], int(warp)] |= (mask >> np.arange(32) & 1).astype(bool)
    sheet, axes = style.figure("", columns=grid, height=4.3)
    for block, axis in enumerate(axes):
        axis.imshow(
            works[block], cmap=ListedColormap([AMBER, BLUE]), vmin=0, vmax=1, aspect="auto", extent=(0, 32, 8, 0)
        )
        for warp in range(1, 8):
            axis.axhline(warp, color=PAPER, linewidth=2)
        for lane in range(1, 32):
            axis.axvline(lane, color=PAPER, linewidth=0.6)
        axis.set_title(f"block {block}", loc="left", fontsize=style.text_size(), color=INK)
        axis.set_xticks([0.5, 31.5], ["lane 0", "lane 31"])
        axis.get_xticklabels()[0].set_horizontalalignment("left")
        axis.get_xticklabels()[1].set_horizontalalignment("right")
        axis.set_yticks([warp + 0.5 for warp in range(8)], [f"warp {warp}" if block == 0 else "" for warp in range(8)])
    handles = [
        Patch(facecolor=BLUE, label="has an element"),
        Patch(facecolor=AMBER, label="past the end: the guard keeps it out"),
    ]
    sheet.legend(
        handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize=style.text_size(), labelcolor=INK
    )
    return sheet


def launch() -> Figure:
    """A launch from left to right: blocks of a grid, which go to SMs as there is room, then warps, then lanes."""
    sheet, (axis,) = style.figure("", height=4.3)
    shapes.bare(axis, (0, 44), (0, 15))
    _heading(axis, 0, "grid")
    for block in range(9):
        shapes.box(axis, 0.2 + 2.6 * (block % 3), 8.8 - 2.9 * (block // 3), 2.3, 2.5, BLUE, str(block))
    axis.text(0.2, 1.4, "blocks, up to\n1,024 threads", fontsize=style.text_size(), color=INK, va="center")
    _heading(axis, 11.5, "SMs")
    held = ((4, 1), (0, 7), (2, 5))
    for sm, blocks in enumerate(held):
        y = 8.8 - 2.9 * sm
        axis.add_patch(Rectangle((11.5, y), 7.6, 2.5, facecolor=PALE, edgecolor=INK, linewidth=0.8))
        axis.text(11.8, y + 1.25, f"SM {sm}", va="center", fontsize=style.text_size(), color=INK)
        for place, block in enumerate(blocks):
            shapes.box(axis, 14.4 + 2.2 * place, y + 0.25, 2.0, 2.0, BLUE, str(block))
    axis.text(11.5, 1.4, "in any order,\nas there is room", fontsize=style.text_size(), color=INK, va="center")
    _heading(axis, 22.5, "block 4")
    for warp in range(8):
        shapes.box(axis, 22.5, 10.0 - 1.03 * warp, 6.2, 0.9, SKY, f"warp {warp}")
    axis.text(22.5, 1.4, "warps of 32,\non one SM", fontsize=style.text_size(), color=INK, va="center")
    _heading(axis, 32.0, "warp 0")
    for lane in range(32):
        shapes.box(axis, 32.0 + 1.45 * (lane % 8), 9.0 - 2.0 * (lane // 8), 1.3, 1.7, GREEN, str(lane))
    axis.text(32.0, 1.4, "32 lanes, one\ninstruction at a time", fontsize=style.text_size(), color=INK, va="center")
    for x in (9.0, 20.0, 29.8):
        axis.annotate("", (x + 1.7, 7), (x, 7), arrowprops={"arrowstyle": "->", "color": VERMILION, "linewidth": 3})
    return sheet


def image() -> Figure:
    """An image of 10 x 50 pixels in blocks of 32 x 8 threads: x along a row, y down, and threads outside the image."""
    rows, columns = -(-IMAGE_ROWS // TILE_ROWS) * TILE_ROWS, -(-IMAGE_COLUMNS // TILE_COLUMNS) * TILE_COLUMNS
    inside = np.zeros((rows, columns))
    inside[:IMAGE_ROWS, :IMAGE_COLUMNS] = 1
    sheet, (axis,) = style.figure("", height=4.4)
    axis.imshow(inside, cmap=ListedColormap([AMBER, BLUE]), vmin=0, vmax=1, aspect="auto", extent=(0, columns, rows, 0))
    for row in range(1, rows):
        axis.axhline(row, color=PAPER, linewidth=0.6)
    for column in range(1, columns):
        axis.axvline(column, color=PAPER, linewidth=0.6)
    for top in range(0, rows, TILE_ROWS):
        for left in range(0, columns, TILE_COLUMNS):
            axis.add_patch(Rectangle((left, top), TILE_COLUMNS, TILE_ROWS, fill=False, edgecolor=INK, linewidth=3))
            name = f" block ({left // TILE_COLUMNS}, {top // TILE_ROWS}) "
            label = axis.text(
                left + 16, top + 5.3, name, ha="center", va="center", fontsize=style.text_size(), color=INK
            )
            label.set_bbox({"facecolor": PAPER, "edgecolor": INK, "pad": 3})
    axis.add_patch(Rectangle((0, 2), 32, 1, facecolor=GREEN, edgecolor=INK, linewidth=1.5))
    label = axis.text(33, 2.5, " one warp: 32 pixels of a row ", va="center", fontsize=style.text_size(), color=INK)
    label.set_bbox({"facecolor": PAPER, "edgecolor": GREEN, "pad": 3})
    axis.set_xlabel("x: column, cuda.grid(2)[0]", fontsize=style.text_size(), color=INK)
    axis.set_ylabel("y: row", fontsize=style.text_size(), color=INK)
    axis.set_xticks([0, 32, 50, 64])
    axis.set_yticks([0, 8, 10, 16])
    handles = [Patch(facecolor=BLUE, label="a pixel"), Patch(facecolor=AMBER, label="outside: right or below")]
    style.legend(axis, handles, columns=2)
    return sheet


# --- waiting ---------------------------------------------------------------------------------------------------------


def waiting() -> Figure:
    """A toy scheduler: every warp issues an instruction and then waits LOAD_STEPS steps for its load."""
    counts, steps = (1, 4, 8), 24
    sheet, axes = style.figure("", rows=3, height=4.15, heights=[count + 1.2 for count in counts])
    for axis, count in zip(axes, counts, strict=True):
        issued = schedule(count, steps)
        for warp in range(count):
            axis.barh(warp, steps, height=0.8, color=PALE, hatch="///", edgecolor=GREY, linewidth=0)
            for step in np.flatnonzero(issued == warp):
                axis.barh(warp, 1, left=step, height=0.8, color=BLUE, edgecolor=PAPER, linewidth=1)
        used = np.count_nonzero(issued >= 0) / steps
        axis.set_title(
            f"{count} resident warp{'s' * (count > 1)}: {used:.1%} of the steps used".replace(".0%", "%"),
            loc="left",
            fontsize=style.text_size(),
            color=INK,
        )
        axis.set_ylim(count - 0.5, -0.5)
        axis.set_xlim(0, steps)
        axis.set_yticks([])
        axis.set_xticks([])
        axis.spines[["left", "bottom"]].set_visible(False)
    axes[-1].set_xlabel("steps of the scheduler, one instruction in each", fontsize=style.text_size(), color=INK)
    handles = [
        Patch(facecolor=BLUE, label="issues"),
        Patch(facecolor=PALE, hatch="///", edgecolor=GREY, label="waits for its load"),
    ]
    sheet.legend(
        handles=handles, loc="outside lower left", ncols=2, frameon=False, fontsize=style.text_size(), labelcolor=INK
    )
    return sheet


def schedule(warps: int, steps: int) -> np.ndarray:
    """Which warp issues at each step, int (steps,), -1 for none: the one that is ready and has waited longest."""
    ready = np.zeros(warps, int)
    issued = np.full(steps, -1)
    for step in range(steps):
        first = int(ready.argmin())
        if ready[first] <= step:
            issued[step] = first
            ready[first] = step + 1 + LOAD_STEPS
    return issued


# --- recorded --------------------------------------------------------------------------------------------------------


def rungs() -> Figure:
    """The launches of one sum, on the H200."""
    data = common.bench("execution")
    names = ("vector_add", "one_thread_per_block", "one_warp_per_block", "add_2d", "grid_stride", "too_small_grid")
    against = {"vector_add": "", "too_small_grid": "grid_stride"}
    rows = [
        {key: one[key] for key in ("name", "bandwidth_gb_s", "language")}
        | {"against": against.get(one["key"], "vector_add")}
        for one in data["rungs"]
        if one["key"] in names
    ]
    return waterfall.figure_of(rows, ceilings={"copy": data["ceilings"]["copy"]})


def sweep() -> Figure:
    """Bandwidth of the grid-stride loop over the number of blocks."""
    data = common.bench("execution")
    rows = [
        {"blocks": row["blocks"], "bandwidth_gb_s": row["bandwidth_gb_s"]}
        for row in data["sweep"]["rows"]
        if row["rung"] == "grid_stride"
    ]
    return grid_sweep.figure_of(rows, sms=data["machine"]["sms"], ceiling_gb_s=data["ceilings"]["copy"])


def _heading(axis: Axes, x: float, text: str) -> None:
    axis.text(x, 12.6, text, fontweight="bold", fontsize=style.text_size(), color=INK)
