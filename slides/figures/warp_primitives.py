"""Figures of the deck on warp primitives: who hands what to whom, drawn with 8 lanes in place of 32."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import gpukit
from gpukit.plots import style
from gpukit.plots.style import AMBER, BLUE, GREEN, GREY, INK, PALE, SKY, VERMILION
from gpukit.slides.stepper import Stepper

from ..numbers import common
from . import shapes

LANES = 8
VALUES = (3, 1, 4, 1, 5, 9, 2, 6)  # a payment in each lane
SIZE = 0.8  # of a cell; lanes are 1 apart


def _cell(axis: Axes, x: float, y: float, text: object, fill: str, height: float = 0.62) -> None:
    axis.add_patch(Rectangle((x - SIZE / 2, y - height / 2), SIZE, height, facecolor=fill, linewidth=0, zorder=3))
    ink = style.ink_on(fill)
    axis.text(x, y, str(text), ha="center", va="center_baseline", fontsize=style.text_size(), color=ink, zorder=4)


def _arrow(axis: Axes, x: float, y: float, to_x: float, to_y: float, colour: str = GREY) -> None:
    ends = {"xy": (to_x, to_y + 0.33), "xytext": (x, y - 0.33)}
    look = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", **ends, arrowprops=look, zorder=2)


def _name(axis: Axes, text: str, y: float, x: float = -0.8) -> None:
    axis.text(x, y, text, ha="right", va="center_baseline", fontsize=style.text_size(), color=INK)


# --- shuffles --------------------------------------------------------------------------------------------------------


def shuffles() -> Figure:
    """Where each lane reads from in the four shuffles."""
    kinds: tuple[tuple[str, Callable[[int], int]], ...] = (
        ("shfl_down_sync(mask, v, 2)", lambda lane: lane + 2),
        ("shfl_up_sync(mask, v, 2)", lambda lane: lane - 2),
        ("shfl_xor_sync(mask, v, 1)", lambda lane: lane ^ 1),
        ("shfl_sync(mask, v, 5)", lambda _: 5),
    )
    sheet, axes = style.figure("", columns=2, rows=2, height=3.2)
    for axis, (name, source_of) in zip(axes, kinds, strict=True):
        axis.set_title(name, loc="left", fontsize=style.text_size(), color=INK, family="monospace")
        for lane in range(LANES):
            source = source_of(lane)
            there = 0 <= source < LANES
            _cell(axis, lane, 1, lane, PALE)
            _cell(axis, lane, -0.35, source if there else lane, BLUE if there else AMBER)
            if there:
                _arrow(axis, source, 1, lane, -0.35)
        shapes.bare(axis, (-0.6, LANES - 0.4), (-0.8, 1.4))
    return sheet


def down_and_butterfly() -> Figure:
    """The same three steps with shuffles down and with exchanges by xor."""
    sheet, axes = style.figure("", columns=2, height=3.2)
    for axis, name, butterfly in ((axes[0], "shfl_down_sync", False), (axes[1], "shfl_xor_sync", True)):
        axis.set_title(name, loc="left", fontsize=style.text_size(), color=INK, family="monospace")
        values, useful = list(VALUES), [True] * LANES
        for lane, value in enumerate(values):
            _cell(axis, lane, 0, value, PALE)
        for row, offset in enumerate((4, 2, 1), 1):
            sources = [lane ^ offset if butterfly else lane + offset for lane in range(LANES)]
            after = [
                values[lane] + (values[source] if source < LANES else values[lane])
                for lane, source in enumerate(sources)
            ]
            useful = [butterfly or lane < offset for lane in range(LANES)]
            for lane, source in enumerate(sources):
                if useful[lane]:
                    _arrow(axis, source, 1 - row, lane, -row)
            values = after
            for lane, value in enumerate(values):
                last = row == 3 and useful[lane]
                fill = GREEN if last else BLUE if useful[lane] else PALE
                _cell(axis, lane, -row, value if useful[lane] else "", fill)
        shapes.bare(axis, (-0.6, LANES - 0.4), (-3.45, 0.4))
    return sheet


# --- votes -----------------------------------------------------------------------------------------------------------


def ballot() -> Figure:
    """From a condition to a mask, and from the mask to the place of each lane that keeps its value."""
    keeps = [value > 2 for value in VALUES]
    sheet, (axis,) = style.figure("", height=2.9)
    for lane, value in enumerate(VALUES):
        _cell(axis, lane, 0, lane, style.PAPER)
        _cell(axis, lane, -1, value, PALE)
        _cell(axis, lane, -2, int(keeps[lane]), BLUE if keeps[lane] else PALE)
        below = sum(keeps[:lane])
        _cell(axis, lane, -3, below if keeps[lane] else "", GREEN if keeps[lane] else style.PAPER)
    kept = [value for value, keep in zip(VALUES, keeps, strict=True) if keep]
    for place, value in enumerate(kept):
        _cell(axis, place + 10.5, -2, value, GREEN)
        _cell(axis, place + 10.5, -1.2, place, style.PAPER)
    axis.text(10.1, -2.85, f"kept, {len(kept)} in all: popc(mask)", fontsize=style.text_size(), color=INK)
    for text, y in (("lane", 0), ("payment", -1), ("more than 2?", -2), ("its place", -3)):
        _name(axis, text, y)
    shapes.bare(axis, (-3.4, 16), (-3.45, 0.4))
    return sheet


# --- scans -----------------------------------------------------------------------------------------------------------


def scan() -> Figure:
    """An inclusive scan in three steps of shuffles up."""
    sheet, (axis,) = style.figure("", height=3)
    _scan(axis, [0] * LANES)
    return sheet


def segmented() -> Figure:
    """The same scan over three segments: a lane adds only what lies in its own."""
    sheet, (axis,) = style.figure("", height=3.3)
    _scan(axis, [0, 0, 0, 3, 3, 5, 5, 5])
    return sheet


def _scan(axis: Axes, starts: Sequence[int]) -> None:
    """Steps of 1, 2 and 4 lanes up; `starts` is the lane where each lane's segment begins."""
    values = list(VALUES)
    colours = dict(zip(sorted(set(starts)), (PALE, SKY, AMBER), strict=False))
    for lane, value in enumerate(values):
        _cell(axis, lane, 0, value, colours[starts[lane]])
    _name(axis, "payments", 0)
    for row, offset in enumerate((1, 2, 4), 1):
        added = [lane - offset >= starts[lane] for lane in range(LANES)]
        before = list(values)
        for lane in range(LANES):
            if added[lane]:
                values[lane] += before[lane - offset]
                _arrow(axis, lane - offset, 1 - row, lane, -row)
            done = lane - 2 * offset < starts[lane]
            fill = GREEN if done else BLUE
            _cell(axis, lane, -row, values[lane], fill)
        _name(axis, f"up by {offset}", -row)
    axis.text(LANES - 0.3, -3, "running sums", va="center_baseline", fontsize=style.text_size(), color=INK)
    axis.text(LANES - 0.3, -1, "green: done", va="center_baseline", fontsize=style.text_size(), color=INK)
    shapes.bare(axis, (-2.6, LANES + 2.2), (-3.45, 0.4))


# --- masks -----------------------------------------------------------------------------------------------------------


def partial_warp() -> Figure:
    """A full mask, and a warp of which some lanes never come."""
    sheet, (axis,) = style.figure("", height=1.7)
    there = 18
    for lane in range(32):
        _cell(axis, lane, 0, lane, BLUE if lane < there else VERMILION)
    axis.annotate(
        "",
        xy=(2, 0.34),
        xytext=(18, 0.34),
        arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.6, "connectionstyle": "arc3,rad=0.18"},
    )
    axis.text(10, 1.75, "lane 2 reads from lane 18", ha="center", fontsize=style.text_size(), color=INK)
    axis.text(0, -1, "came to the shuffle", fontsize=style.text_size(), color=INK)
    axis.text(there, -1, "named by the mask, not there", fontsize=style.text_size(), color=INK)
    shapes.bare(axis, (-0.6, 31.6), (-1.2, 2.3))
    return sheet


def lanes_that_never_come() -> Stepper:
    """`below_maximum` of lab 6 on 50 elements, in a block of two warps."""
    lab = common.given("06_warp_primitives")
    trace = gpukit.trace(lab.below_maximum, 1, 64, np.arange(50, dtype=np.float32), np.zeros(50, np.float32))
    return Stepper.of(trace, warps=[0, 1], title="below_maximum on 50 elements")
