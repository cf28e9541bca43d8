"""Figures of the guide."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from gpukit.plots import style
from gpukit.plots.style import AMBER, BLUE, GREEN, INK, PALE, PURPLE, SKY

from . import shapes

# x, y, width, fill, name, what it is for
PARTS = (
    (0.0, 5.2, 7.0, PALE, "kernels", "one file a topic,\nPython and C++"),
    (9.0, 7.9, 8.0, SKY, "the machine", "counts and checks\non any computer"),
    (9.0, 2.5, 8.0, AMBER, "an H200", "times, recorded\nonce, with a date"),
    (19.0, 5.2, 7.0, BLUE, "decks", "explain, with\ncode and counts"),
    (28.0, 7.9, 8.0, PURPLE, "live page", "try a kernel\nin the browser"),
    (28.0, 2.5, 8.0, GREEN, "labs", "write your own,\nwith tests"),
)
ARROWS = (
    ((7.2, 8.0), (8.8, 9.2)),
    ((7.2, 6.2), (8.8, 5.0)),
    ((17.2, 9.2), (18.8, 8.0)),
    ((17.2, 5.0), (18.8, 6.2)),
    ((26.2, 8.0), (27.8, 9.2)),
    ((26.2, 6.2), (27.8, 5.0)),
)


def parts() -> Figure:
    """How kernels, machine, recordings, decks, live page and labs hang together."""
    sheet, (axis,) = style.figure("", height=4.2)
    shapes.bare(axis, (-0.3, 36.3), (1.8, 12.2))
    for x, y, width, fill, name, about in PARTS:
        box = FancyBboxPatch(
            (x, y), width, 3.6, boxstyle="round,pad=0,rounding_size=0.3", facecolor=fill, edgecolor=INK
        )
        axis.add_patch(box)
        look = {"ha": "center", "va": "center", "fontsize": style.text_size(), "color": style.ink_on(fill)}
        axis.text(x + width / 2, y + 2.85, name, fontweight="bold", **look)
        axis.text(x + width / 2, y + 1.25, about, **look)
    for start, end in ARROWS:
        axis.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 2})
    return sheet
