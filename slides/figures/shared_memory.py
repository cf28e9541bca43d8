"""Figures of the deck on shared memory: tiles and banks, from traces of the machine, and measured bandwidths."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import gpukit
from gpukit.kernels import banks
from gpukit.plots import style
from gpukit.plots.bank_map import BANKS, words_of

from ..numbers import common
from . import shapes

STRIDES = (1, 2, 4, 8, 16, 32, 33)
LANES, WORD = 32, 4


# --- tiles ----------------------------------------------------------------------------------------------------------


def turn() -> Figure:
    """A tile comes in by rows and goes out by columns, which are the rows of the transpose."""
    sheet, (axis,) = style.figure("", height=3.6)
    n, tile = 12, 4
    for left, name, row, column in ((0, "x, in global memory", 0, 8), (31, "y, in global memory", 8, 0)):
        axis.add_patch(Rectangle((left, 0), n, n, facecolor=style.PALE, edgecolor=style.INK, linewidth=1))
        _tile(axis, left + column, row, tile, along_rows=True)
        shapes.words(axis, left + n / 2, n + 0.5, name, va="top")
    shared = 17.5
    axis.add_patch(Rectangle((shared, 2), 8, 8, facecolor=style.PAPER, edgecolor=style.INK, linewidth=2))
    for k in range(4):
        axis.add_patch(Rectangle((shared, 2 + 2 * k), 8, 2, facecolor="none", edgecolor=style.GREY, linewidth=0.8))
    axis.add_patch(Rectangle((shared, 2), 8, 2, facecolor=style.BLUE, linewidth=0))
    axis.add_patch(Rectangle((shared, 2), 2, 8, facecolor="none", edgecolor=style.VERMILION, linewidth=5))
    axis.add_patch(Rectangle((31, 8), 4, 1, facecolor=style.VERMILION, edgecolor=style.INK, linewidth=0.8))
    shapes.words(axis, shared + 4, 10.5, "tile, in shared memory", va="top")
    shapes.words(axis, shared + 4.9, 3, "row in", color=style.ink_on(style.BLUE))
    shapes.words(axis, shared + 4.9, 7, "column out")
    arrow = {"arrowstyle": "-|>", "color": style.INK, "linewidth": 2, "mutation_scale": 22}
    axis.annotate("", (shared - 0.3, 3), (n + 0.3, 1.5), arrowprops=arrow)
    axis.annotate("", (30.7, 9.3), (shared + 8.3, 7), arrowprops=arrow)
    shapes.bare(axis, (-0.3, 43.3), (13.7, -0.3))
    axis.set_aspect("equal")
    return sheet


def _tile(axis: Axes, x: float, y: float, side: int, along_rows: bool) -> None:
    for k in range(side):
        place = (x, y + k) if along_rows else (x + k, y)
        size = (side, 1) if along_rows else (1, side)
        fill = style.BLUE if k == 0 else style.SKY
        axis.add_patch(Rectangle(place, *size, facecolor=fill, edgecolor=style.INK, linewidth=0.8))


def padding() -> Figure:
    """The banks of a column of a tile, without and with a word of padding a row. Eight banks, to be readable."""
    sheet, (axis,) = style.figure("", height=3.4)
    side, column = 8, 2
    for left, pitch, name in ((0, side, "[8][8]"), (side + 1.2, side + 1, "[8][9]")):
        for row in range(side):
            for k in range(pitch):
                bank = (row * pitch + k) % side
                same = pitch == side
                fill = (style.VERMILION if same else style.GREEN) if k == column else style.PAPER
                if k == side:
                    fill = style.PALE
                axis.add_patch(Rectangle((left + k, row), 1, 1, facecolor=fill, edgecolor=style.GREY, linewidth=0.8))
                ink = style.INK if fill in (style.PAPER, style.PALE) else style.ink_on(fill)
                shapes.words(axis, left + k + 0.5, row + 0.5, str(bank), color=ink)
        shapes.words(axis, left + pitch / 2, side + 0.25, name, va="top")
    shapes.bare(axis, (-0.1, 2 * side + 2.3), (side + 1.2, -0.1))
    axis.set_aspect("equal")
    return sheet


def reuse() -> Figure:
    """What a tile of C needs of A and of B."""
    sheet, (axis,) = style.figure("", height=3.7)
    n, tile = 8, 2
    places = {"A": (0, n + 1), "B": (n + 1, 0), "C": (n + 1, n + 1)}
    for name, (x, y) in places.items():
        axis.add_patch(Rectangle((x, y), n, n, facecolor=style.PALE, edgecolor=style.INK, linewidth=1))
        shapes.words(axis, x + n - 0.5, y + n - 0.7, name)
    row = column = 3
    x, y = places["A"]
    axis.add_patch(Rectangle((x, y + row), n, tile, facecolor=style.SKY, edgecolor=style.INK, linewidth=1))
    x, y = places["B"]
    axis.add_patch(Rectangle((x + column, y), tile, n, facecolor=style.AMBER, edgecolor=style.INK, linewidth=1))
    x, y = places["C"]
    axis.add_patch(
        Rectangle((x + column, y + row), tile, tile, facecolor=style.GREEN, edgecolor=style.INK, linewidth=1)
    )
    for k in range(0, n, tile):
        ax, ay = places["A"]
        axis.plot([ax + k, ax + k], [ay + row, ay + row + tile], color=style.INK, linewidth=0.8)
        bx, by = places["B"]
        axis.plot([bx + column, bx + column + tile], [by + k, by + k], color=style.INK, linewidth=0.8)
    words = (
        (5.0, "a band of A: each element serves a row of the tile"),
        (8.0, "a band of B: each element serves a column of it"),
        (11.0, "tiles of 16 x 16: every load is used 16 times"),
    )
    for y, text in words:
        shapes.words(axis, 2 * n + 2.2, y, text, ha="left")
    shapes.bare(axis, (-0.2, 46), (2 * n + 1.2, -0.2))
    axis.set_aspect("equal")
    return sheet


def rounds() -> Figure:
    """A fast and a slow warp in two rounds of the product, without the second barrier and with both."""
    slow = ((0, 3, "load 1"), (3, 5, "multiply 1"), (8, 3, "load 2"), (11, 5, "multiply 2"))  # start, length
    fast = ((0, 2, "load 1"), (3, 3, "multiply 1"), (8, 2, "load 2"), (11, 3, "multiply 2"))
    too_early = (*fast[:2], (6, 2, "load 2"))
    panels = (
        ("the first barrier alone: load 2 overwrites what the slow warp still reads", too_early, (3, 11)),
        ("both barriers: nobody overwrites what is still read", fast, (3, 8, 11)),
    )
    sheet, (axis,) = style.figure("", height=2.85)
    for number, (words, of_fast, waits) in enumerate(panels):
        top = 2.9 * number
        shapes.words(axis, 0, top - 0.4, words, ha="left")
        for row, (name, parts) in enumerate((("fast warp", of_fast), ("slow warp", slow))):
            shapes.words(axis, -0.2, top + row + 0.4, name, ha="right")
            for start, length, what in parts:
                fill = style.SKY if what.startswith("load") else style.BLUE
                shapes.box(axis, start, top + row, length, 0.8, style.VERMILION if start == 6 else fill, what)
        for place in waits:
            axis.plot([place, place], [top - 0.08, top + 1.88], color=style.INK, linewidth=4)
    shapes.bare(axis, (-2.6, 18.4), (4.9, -0.75))
    return sheet


# --- banks ----------------------------------------------------------------------------------------------------------


def strides() -> Figure:
    """How many words each bank must give, by stride."""
    sheet, (axis,) = style.figure("", height=4.4)
    for place, stride in enumerate(STRIDES):
        kernel = getattr(banks, f"stride_{stride}")
        x, y = np.zeros(LANES, np.float32), np.zeros(LANES, np.float32)
        trace = gpukit.trace(kernel, 1, LANES, x, y, shared_bytes=WORD * LANES * stride).to_dict()
        request = next(r for r in trace["requests"] if r["space"] == "shared" and r["kind"] == "load")
        for bank, count in enumerate(words_of(trace, request).tolist()):
            fill = _fill(count)
            axis.add_patch(Rectangle((bank + 0.04, place - 0.42), 0.92, 0.84, facecolor=fill, linewidth=0))
            if count:
                # Two digits are wider than a bank and stand beside it, where no bank has anything to give.
                wide = count > 9
                ink = style.INK if wide else style.ink_on(fill)
                shapes.words(
                    axis, bank + (1.1 if wide else 0.5), place, str(count), "left" if wide else "center", color=ink
                )
        shapes.words(axis, BANKS + 0.4, place, f"{request['wavefronts']}", ha="left")
    shapes.words(axis, BANKS + 0.4, -0.95, "wavefronts", ha="left")
    axis.set_xlim(0, BANKS)
    axis.set_ylim(len(STRIDES) - 0.4, -0.6)
    axis.set_yticks(range(len(STRIDES)), [f"stride {stride}" for stride in STRIDES])
    ticks = range(0, BANKS, 4)
    axis.set_xticks([bank + 0.5 for bank in ticks], [str(bank) for bank in ticks])
    axis.spines[["left", "bottom"]].set_visible(False)
    style.label(axis, "bank; the number in it: different words that it must give")
    return sheet


def _fill(count: int) -> str:
    return style.PALE if not count else style.SKY if count == 1 else style.AMBER if count < 8 else style.VERMILION


# --- measured -------------------------------------------------------------------------------------------------------


def transpose_ladder() -> Figure:
    """Bandwidth of every transpose beside the plain copy's, on an H200."""
    found = {key: rung["bandwidth_gb_s"] for key, rung in common.rungs("transpose").items()}
    names = {
        "copy": "copy, the aim",
        "strided_writes": "naive: strided writes",
        "strided_reads": "strided reads",
        "tiled": "tiled",
        "padded": "padded",
        "cpp:tiled": "tiled, C++",
        "cpp:padded": "padded, C++",
    }
    sheet, (axis,) = style.figure("", height=3.55)
    for place, key in enumerate(names):
        rate = found[key]
        fill = style.GREY if key == "copy" else style.GREEN if key == "cpp:padded" else style.BLUE
        axis.barh(place, rate, height=0.64, color=fill)
        share = "" if key == "copy" else f", {common.percent(rate / found['copy'])} of it"
        inside = rate > found["copy"] / 2
        axis.text(
            rate - 30 if inside else rate + 30,
            place,
            f"{rate:,.0f}{share}",
            ha="right" if inside else "left",
            va="center",
            fontsize=style.text_size(),
            color=style.ink_on(fill) if inside else style.INK,
        )
    axis.axvline(found["copy"], color=style.INK, linestyle="--", linewidth=1.5, zorder=0)
    axis.set_yticks(range(len(names)), list(names.values()))
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlim(0, 1.02 * max(found[key] for key in names))
    style.label(axis, "measured bandwidth (GB/s); dashed: a copy by such a kernel")
    return sheet
