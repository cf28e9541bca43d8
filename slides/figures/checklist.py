"""Figures of the deck with the mental model, the nine questions and the lists to tick."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from gpukit.plots import style
from gpukit.plots.style import AMBER, BLUE, GREEN, INK, PURPLE, SKY, VERMILION

from . import shapes

FACTORS = (
    ("parallelism", "enough warps,\nso that one\nis ready", BLUE),
    ("memory access", "each sector\nused in full,\nmoved once", GREEN),
    ("utilization", "lanes, warps\nand SMs all\nat work", AMBER),
    ("enough work", "more than\nlaunches and\ncopies cost", PURPLE),
)
CAUSES = (
    ("compute", BLUE, ("too many instructions", "slow types, no tensor cores", "a serial chain in each thread")),
    ("memory", GREEN, ("sectors used in part", "bytes moved twice", "copies to and from the host")),
    (
        "utilization",
        AMBER,
        ("lanes that wait: divergence", "blocks that wait: imbalance", "GPU that waits: launches, few blocks"),
    ),
)
QUESTIONS = (
    "parallelism",
    "coalesced",
    "compute\nor memory",
    "divergence",
    "imbalance",
    "reuse",
    "copies",
    "enough work",
    "library",
)


def product() -> Figure:
    """Performance as a product of four factors: one that is near zero makes all of it so."""
    sheet, (axis,) = style.figure("", height=3.2)
    size = style.text_size()
    shapes.bare(axis, (0, 40), (6.6, -0.2))
    for place, (name, about, fill) in enumerate(FACTORS):
        left = 0.2 + 10.2 * place
        _box(axis, left, 0.3, 8.6, 5.8, fill)
        look: dict[str, Any] = {"ha": "center", "va": "center", "color": style.ink_on(fill)}
        axis.text(left + 4.3, 1.4, name, fontsize=size, fontweight="bold", **look)
        axis.text(left + 4.3, 3.95, about, fontsize=size, linespacing=1.35, **look)
        if place:
            axis.text(left - 0.8, 3.2, "x", ha="center", va="center", fontsize=1.6 * size, color=INK)
    return sheet


def slow() -> Figure:
    """Slow means compute, memory or utilization, each with its causes."""
    sheet, (axis,) = style.figure("", height=3.8)
    size = style.text_size()
    shapes.bare(axis, (0, 40), (9.4, -0.2))
    _box(axis, 0.2, 3.6, 6.2, 2.0, VERMILION)
    ink = style.ink_on(VERMILION)
    axis.text(3.3, 4.6, "slow", ha="center", va="center", fontsize=1.3 * size, fontweight="bold", color=ink)
    for place, (name, fill, causes) in enumerate(CAUSES):
        top = 0.1 + 3.15 * place
        _box(axis, 10.2, top + 0.35, 8.4, 2.0, fill)
        ink = style.ink_on(fill)
        axis.text(14.4, top + 1.35, name, ha="center", va="center", fontsize=1.15 * size, fontweight="bold", color=ink)
        shapes.arrow(axis, (6.6, 4.6), (10.0, top + 1.35))
        for k, cause in enumerate(causes):
            axis.text(19.6, top + 0.42 + 0.93 * k, cause, va="center", fontsize=size, color=INK)
    return sheet


def nine() -> Figure:
    """The nine questions as stations in their order."""
    sheet, (axis,) = style.figure("", height=2.7)
    size = style.text_size()
    shapes.bare(axis, (0, 40), (5.2, -0.3))
    for place, name in enumerate(QUESTIONS):
        row, column = divmod(place, 5)
        left = 0.2 + 8.1 * column
        top = 0.2 + 2.7 * row
        _box(axis, left, top, 7.2, 1.9, SKY)
        axis.text(
            left + 3.6,
            top + 0.95,
            f"{place + 1}  {name}",
            ha="center",
            va="center",
            fontsize=size,
            linespacing=1.1,
            color=style.ink_on(SKY),
        )
        if column:
            shapes.arrow(axis, (left - 0.95, top + 0.95), (left + 0.05, top + 0.95))
    return sheet


# --- help ------------------------------------------------------------------------------------------------------------


def _box(axis: Axes, x: float, y: float, width: float, height: float, fill: str) -> None:
    look = "round,pad=0,rounding_size=0.35"
    axis.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=look, fc=fill, ec="none"))
