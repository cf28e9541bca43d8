"""What drawings of several decks are made of: boxes, words and arrows on an axis without ticks."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle

from gpukit.plots import style

Point = tuple[float, float]


def bare(axis: Axes, x: Point, y: Point) -> None:
    """An axis from and to these numbers, without lines and ticks."""
    axis.set_xlim(*x)
    axis.set_ylim(*y)
    axis.set_axis_off()


def words(axis: Axes, x: float, y: float, text: str, ha: str = "center", va: str = "center", **look: Any) -> None:
    """Text of a slide's size."""
    axis.text(x, y, text, **{"ha": ha, "va": va, "fontsize": style.text_size(), "color": style.INK, **look})


def box(axis: Axes, x: float, y: float, width: float, height: float, fill: str, text: str = "", **look: Any) -> None:
    """A rectangle with a line round it, and words in its middle, in the ink that is read on it."""
    look = {"facecolor": fill, "edgecolor": style.INK, "linewidth": 0.8, **look}
    axis.add_patch(Rectangle((x, y), width, height, **look))
    if text:
        words(axis, x + width / 2, y + height / 2, text, color=style.ink_on(fill))


def arrow(axis: Axes, start: Point, end: Point, **look: Any) -> None:
    look = {"arrowstyle": "-|>", "mutation_scale": 22, "color": style.GREY, "linewidth": 2.5, **look}
    axis.add_patch(FancyArrowPatch(start, end, **look))
