"""A board: a sheet for diagrams of cells, arrows and words, measured in inches of a report.

On a slide a board is drawn 1.5 times as large, text and all, so a diagram is laid out once: x from 0 to `width()`,
y downwards from 0, text of `LINE` inches a line.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, Patch, Rectangle

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.plots.style import INK, PAPER

LINE = 0.2  # inches of a line of text
HATCH = "///"
Point = tuple[float, float]


def width() -> float:
    """Inches across."""
    return style.width() / style.scale()


def room() -> float | None:
    """Inches down that there are at most; None: as many as wanted."""
    return style.sheet_height(99) / style.scale() if style.is_slide() else None


def board(title: str, height: float, *, caption: str = "", what: str = "the figure") -> tuple[Figure, Axes]:
    """A sheet with a board of `height` inches, below the title and above the caption.

    A slide that asked for less height than the board wants makes it smaller, as far as its text allows.

    Raises:
        GpukitError: a slide has less room.
    """
    most = room()
    if most is not None:
        if height > most + 1e-6:
            raise GpukitError(
                f"{what} needs {style.scale() * height:.1f} inches of height, and the slide gives it "
                f"{style.scale() * most:.1f}: show less in it"
            )
        sheet = Figure(figsize=(style.width(), style.scale() * height), dpi=style.DPI, facecolor=PAPER)
        above = below = 0.0
    else:
        heading = style.wrapped(title, style.TITLE, "bold")
        below_text = style.wrapped(caption, style.TEXT) if caption else ""
        above = 0.2 + 0.26 * len(heading.splitlines())
        below = 0.1 + LINE * len(below_text.splitlines()) if caption else 0.0
        sheet = Figure(figsize=(style.WIDTH, above + height + below), dpi=style.DPI, facecolor=PAPER)
        total = above + height + below
        place: dict[str, Any] = {"x": 0.01, "ha": "left", "color": INK}
        sheet.suptitle(heading, y=1 - 0.08 / total, va="top", fontsize=style.TITLE, fontweight="bold", **place)
        if caption:
            sheet.text(s=below_text, y=0.06 / total, va="bottom", fontsize=style.TEXT, **place)
    FigureCanvasAgg(sheet)
    total = above + height + below
    axis = sheet.add_axes((0.0, below / total, 1.0, height / total))
    axis.set_axis_off()
    axis.set_xlim(0, width())
    axis.set_ylim(height, 0)
    return sheet, axis


@functools.cache
def text_width(text: str, bold: bool = False) -> float:
    """Inches that the longest line of a text is wide."""
    font = FontProperties(size=style.TEXT, weight="bold" if bold else "normal")
    measure = FigureCanvasAgg(Figure(dpi=style.DPI)).get_renderer().get_text_width_height_descent
    return max((measure(style.plain(line), font, False)[0] / style.DPI for line in text.splitlines()), default=0.0)


def wrapped(text: str, inches: float, bold: bool = False) -> str:
    """Text broken into lines of at most so many inches."""
    return style.wrapped(text, style.TEXT, "bold" if bold else "normal", inches)


def words(axis: Axes, x: float, y: float, text: str, *, at: str = "left", colour: str = INK, **look: Any) -> None:
    """A text at (x, y): `at` "left" begins there, "center" and "right" as they say; y is its middle."""
    place: dict[str, Any] = {"ha": at, "va": "center", "color": colour, "fontsize": style.text_size()}
    axis.text(x, y, style.plain(text), **{**place, **look})


def cell(
    axis: Axes,
    corner: Point,
    size: Point,
    fill: str = PAPER,
    text: str = "",
    *,
    hatch: str = "",
    edge: str = INK,
    line: float = 0.8,
    bold: bool = False,
) -> None:
    """A rectangle with its upper left corner at `corner`, and a text in its middle where that fits."""
    axis.add_patch(Rectangle(corner, *size, facecolor=fill, edgecolor=edge, linewidth=line, hatch=hatch))
    if text and text_width(text, bold) <= size[0] - 0.02 and LINE * len(text.splitlines()) - 0.035 <= size[1]:
        weight = "bold" if bold else "normal"
        middle = corner[0] + size[0] / 2, corner[1] + size[1] / 2
        words(axis, *middle, text, at="center", colour=style.ink_on(fill), fontweight=weight)


def arrow(axis: Axes, start: Point, end: Point, colour: str = INK, *, line: float = 1.2, bend: float = 0.0) -> None:
    """An arrow."""
    look: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 8 * style.scale(), "shrinkA": 0, "shrinkB": 0}
    curve = f"arc3,rad={bend}"
    axis.add_patch(
        FancyArrowPatch(start, end, color=colour, linewidth=line * style.scale(), connectionstyle=curve, **look)
    )


def key(axis: Axes, y: float, items: Sequence[tuple[str, str, str]], x: float = 0.1) -> None:
    """A row of (fill, hatch, words): what the fills mean. `y` is its middle."""
    for fill, hatch, text in items:
        axis.add_patch(Rectangle((x, y - 0.07), 0.26, 0.14, facecolor=fill, edgecolor=INK, hatch=hatch, linewidth=0.8))
        words(axis, x + 0.34, y, text)
        x += 0.34 + text_width(text) + 0.25


def patch(fill: str, hatch: str, text: str) -> Patch:
    """An entry of a legend with what `key` draws."""
    return Patch(facecolor=fill, hatch=hatch, edgecolor=INK, linewidth=0.8, label=text)
