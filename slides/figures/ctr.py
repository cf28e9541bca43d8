"""Figures of the deck on click-through rates."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from gpukit.plots import gathers, style
from gpukit.plots.style import AMBER, BLUE, GREEN, GREY, INK, PALE, PURPLE, SKY, VERMILION

from ..numbers import ctr as numbers
from . import shapes

FIELDS = (
    ("member", "3", BLUE),
    ("ad", "0", AMBER),
    ("campaign", "2", GREEN),
    ("device", "1", PURPLE),
    ("country", "5", SKY),
)


def impression() -> Figure:
    """One impression: ids become rows of a table, rows and numbers become the input of an MLP, and that P(click)."""
    sheet, (axis,) = style.figure("", height=3.9)
    size = style.text_size()
    shapes.bare(axis, (0, 40), (7.6, -0.9))
    for place, (name, number, fill) in enumerate(FIELDS):
        axis.text(4.4, place + 0.5, name, ha="right", va="center", fontsize=size, color=INK)
        _box(axis, 4.8, place + 0.12, 1.5, 0.76, fill, number)
        _row(axis, 9.6, place, fill)
        shapes.arrow(axis, (6.5, place + 0.5), (9.4, place + 0.5))
    for place, name in ((5, "historical CTR"), (6, "context: hour, slot ...")):
        axis.text(4.4 if place == 5 else 6.3, place + 0.5, name, ha="right", va="center", fontsize=size, color=INK)
        _box(axis, 9.6, place + 0.2, 1.2, 0.6, PALE, "")
    axis.text(5.55, -0.45, "id", ha="center", va="center", fontsize=size, color=GREY)
    axis.text(12.5, -0.45, "rows of a table", ha="center", va="center", fontsize=size, color=GREY)
    for place, (_, _, fill) in enumerate(FIELDS):
        axis.add_patch(Rectangle((19.2, place * 1.1 + 0.35), 1.3, 1.1, fc=fill, ec="none"))
    axis.add_patch(Rectangle((19.2, 5.85), 1.3, 1.1, fc=PALE, ec="none"))
    axis.text(19.85, -0.25, "concatenated", ha="center", va="center", fontsize=size, color=GREY)
    shapes.arrow(axis, (15.9, 3.6), (18.9, 3.6))
    for place, (width, left) in enumerate(((256, 24.0), (128, 28.2))):
        high = 6.2 - 1.6 * place
        axis.add_patch(
            FancyBboxPatch(
                (left, 3.65 - high / 2), 2.2, high, boxstyle="round,pad=0,rounding_size=0.3", fc=SKY, ec="none"
            )
        )
        axis.text(left + 1.1, 3.65, str(width), ha="center", va="center", fontsize=size, color=style.ink_on(SKY))
    axis.text(27.2, -0.25, "MLP: dense", ha="center", va="center", fontsize=size, color=GREY)
    shapes.arrow(axis, (20.8, 3.65), (23.7, 3.65))
    shapes.arrow(axis, (26.5, 3.65), (27.9, 3.65))
    shapes.arrow(axis, (30.7, 3.65), (33.2, 3.65))
    axis.text(36.4, 3.65, "P(click)", ha="center", va="center", fontsize=1.4 * size, fontweight="bold", color=INK)
    return sheet


def gather() -> Figure:
    """The same gather twice: rows of a table by the ids of a batch, and elements of x by the columns of a row."""
    panels = (
        {"name": "embedding[id]", "ids": [17, 3, 40, 3, 29, 8], "rows": 48, "row_bytes": 64, "index": "id"},
        {"name": "x[indices[j]]", "ids": [2, 5, 6, 19, 31, 44], "rows": 48, "row_bytes": 4, "index": "column"},
    )
    return gathers.figure_of(panels)


def ladder() -> Figure:
    """Million impressions a second, rung by rung, on a linear axis."""
    rungs = numbers.ladder()
    names = [rung["change"] for rung in rungs.values()]
    rates = [rung["samples_per_second"] / 1e6 for rung in rungs.values()]
    slower = [bool(rung["step_over"] and rung["step_over"] < 0.99) for rung in rungs.values()]
    sheet, (axis,) = style.figure("", height=4.1)
    colours = [AMBER if one else BLUE for one in slower]
    style.bars(axis, names, rates, colours, "", "{:.2f} M/s")
    return sheet


def waiting() -> Figure:
    """How much of a step a kernel runs on the GPU, and how much the GPU waits for the host."""
    busy = {
        name: one
        for name, one in numbers.busy().items()
        if name in ("one_table", "rowwise", "kernels", "bfloat16", "graph")
    }
    names = {
        "one_table": "dense Adam",
        "rowwise": "row-wise update",
        "kernels": "own kernels",
        "bfloat16": "bf16 MLP",
        "graph": "CUDA graph",
    }
    sheet, (axis,) = style.figure("", height=3.7)
    size = style.text_size()
    for place, (name, (share, launches)) in enumerate(busy.items()):
        runs = min(1.0, share)
        axis.barh(place, runs, color=BLUE, height=0.62, label="a kernel runs" if not place else None)
        axis.barh(
            place,
            1 - runs,
            left=runs,
            facecolor=PALE,
            edgecolor=GREY,
            hatch="//",
            linewidth=0,
            height=0.62,
            label="the GPU waits" if not place else None,
        )
        end = f"{launches:.0f} launches" if name != "graph" else "1 launch"
        axis.text(1.015, place, end, va="center", fontsize=size, color=INK)
    axis.set_yticks(range(len(busy)), [names[name] for name in busy])
    axis.invert_yaxis()
    axis.set_xlim(0, 1.2)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    style.label(axis, "of the time of a step")
    style.legend(axis, axis.get_legend_handles_labels()[0], 2)
    return sheet


def loading() -> Figure:
    """One loader after the other on a time line: everything in turn, workers, and copies that overlap."""
    sheet, (axis,) = style.figure("", height=3.6)
    size = style.text_size()
    shapes.bare(axis, (-9.5, 30.5), (6.6, -1.0))
    make, copy, train = (4, AMBER, "make"), (2, SKY, "copy"), (3, BLUE, "train")
    rows: list[tuple[str, list[tuple[float, tuple[float, str, str]]]]] = [
        (
            "one after the other",
            [(k * 9.0 + at, what) for k in range(3) for at, what in ((0, make), (4, copy), (6, train))],
        ),
        ("workers make batches", [(k * 5.0 + at, what) for k in range(6) for at, what in ((0, copy), (2, train))]),
        ("pinned, copied ahead", [(0, copy), *((2 + 3.0 * k, train) for k in range(9))]),
    ]
    tops = (0, 2.0, 4.0)
    for (name, bars), top in zip(rows, tops, strict=True):
        axis.text(-0.4, top + 0.6, name, ha="right", va="center", fontsize=size, color=INK)
        for at, (long, fill, word) in bars:
            _box(
                axis,
                at + 0.05,
                top,
                min(long, 30 - at) - 0.1,
                1.2,
                fill,
                word if long > 2.5 or fill == SKY else "",
            )
    for k in range(9):
        axis.add_patch(Rectangle((2 + 3.0 * k + 0.05, 5.3), 1.9, 0.55, fc=SKY, ec="none"))
    axis.text(-0.4, 5.58, "its own stream", ha="right", va="center", fontsize=size, color=INK)
    axis.text(0, -0.6, "time", fontsize=size, color=GREY, va="center")
    shapes.arrow(axis, (2.4, -0.6), (9.0, -0.6))
    return sheet


def bytes_of_a_step() -> Figure:
    """Bytes of an impression at batch 8,192: dense Adam over all rows, and row-wise Adagrad over those of the batch."""
    rungs = numbers.ladder()
    rows = [("dense Adam", rungs["fused"]["cost"]["bytes"]), ("row-wise Adagrad", rungs["rowwise"]["cost"]["bytes"])]
    sheet, (axis,) = style.figure("", height=2.1)
    style.bars(axis, [name for name, _ in rows], [size / 1e3 for _, size in rows], [VERMILION, BLUE], "", "{:,.1f} kB")
    return sheet


def by_batch() -> Figure:
    """Impressions a second, and AUC after the same impressions, by batch."""
    found = numbers.by_batch()
    names = [f"{batch:,}" for batch, *_ in found]
    sheet, (left, right) = style.figure("", 2, 2.9)
    style.bars(left, names, [rate for _, rate, _ in found], [BLUE] * 3, "M impressions/s", "{:,.0f}")
    style.bars(right, names, [auc for *_, auc in found], [AMBER] * 3, "AUC, from 0.5 (chance)", "{:.3f}")
    right.set_xlim(0.5, 0.83)
    return sheet


def leak() -> Figure:
    """AUC of a member's click rate where clicks are coins: of the past, and of the whole log."""
    found = numbers.leak()
    sheet, (axis,) = style.figure("", height=2.3)
    names = [f"rate {name}" for name in found]
    style.bars(axis, names, list(found.values()), [BLUE, VERMILION], "", "AUC {:.2f}")
    axis.axvline(0.5, linestyle="--", color=INK, linewidth=1.5)
    return sheet


def shards() -> Figure:
    """A table whose rows are dealt out to two GPUs, each with half of the batch: ids go over, rows come back."""
    sheet, (axis,) = style.figure("", height=3.2)
    size = style.text_size()
    shapes.bare(axis, (0, 40), (6.4, -0.4))
    for place, (left, fill) in enumerate(((0.5, BLUE), (24.5, AMBER))):
        axis.add_patch(
            FancyBboxPatch((left, 0), 15, 6, boxstyle="round,pad=0,rounding_size=0.4", fc="none", ec=GREY, lw=2)
        )
        axis.text(
            left + 7.5, 0.65, f"GPU {place}", ha="center", va="center", fontsize=size, fontweight="bold", color=INK
        )
        for row in range(8):
            axis.add_patch(Rectangle((left + 0.9 + row * 1.66, 1.35), 1.5, 1.1, fc=fill, ec="none"))
            name = 2 * row + place
            axis.text(
                left + 1.65 + row * 1.66,
                1.9,
                str(name),
                ha="center",
                va="center",
                fontsize=size,
                color=style.ink_on(fill),
            )
        axis.text(left + 7.5, 3.15, "its half of the rows", ha="center", va="center", fontsize=size, color=INK)
        _box(axis, left + 0.9, 3.85, 6.3, 1.5, PALE, "its batch")
        _box(axis, left + 7.7, 3.85, 6.3, 1.5, SKY, "whole MLP")
    shapes.arrow(axis, (15.9, 1.9), (24.1, 1.9))
    shapes.arrow(axis, (24.1, 3.0), (15.9, 3.0))
    axis.text(20, 1.3, "ids", ha="center", va="center", fontsize=size, color=INK)
    axis.text(20, 3.6, "rows", ha="center", va="center", fontsize=size, color=INK)
    return sheet


# --- help ------------------------------------------------------------------------------------------------------------


def _box(axis: Axes, x: float, y: float, width: float, height: float, fill: str, text: str = "") -> None:
    shapes.box(axis, x, y, width, height, fill, text, edgecolor="none")


def _row(axis: Axes, x: float, y: float, fill: str) -> None:
    """A row of the table, as numbers side by side."""
    for k in range(6):
        axis.add_patch(Rectangle((x + k, y + 0.12), 0.9, 0.76, fc=fill, ec="none"))
