"""Figures of the deck on coalescing: what requests touch, from traces of the machine, and measured bandwidths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

import gpukit
from gpukit.kernels import coalescing, layout
from gpukit.plots import style
from gpukit.plots.sector_map import requests_of, sectors_of

from ..numbers import common
from . import shapes

LANES, WORD, SECTOR, LINE = 32, 4, 32, 128  # lanes of a warp; bytes
Sectors = Mapping[int, int]  # bytes used of each sector, by its number


def request_of(kernel: Any, array: str, *args: Any) -> Sectors:
    """What one warp's load from an array touches when 32 threads run the kernel."""
    trace = gpukit.trace(kernel, 1, LANES, *args).to_dict()
    return sectors_of(trace, requests_of(trace, "global", 0, None, array, ("load",))[0])


def a_stride(elements: int) -> Sectors:
    source = np.zeros(LANES * elements, np.float32)
    return request_of(coalescing.every_nth, "x", source, elements, np.zeros(LANES, np.float32))


def an_offset(elements: int) -> Sectors:
    source = np.zeros(LANES + elements, np.float32)
    return request_of(coalescing.shifted, "x", source, elements, np.zeros(LANES, np.float32))


# --- strips of sectors ----------------------------------------------------------------------------------------------


def strips(rows: Mapping[str, Sectors], sectors: int, label_every: int, height: float) -> Figure:
    """A row a pattern and a cell a sector, on one axis of bytes; filled as far as the sector is used.

    sectors: how many the axis shows. label_every: bytes between two labels of it. height: inches, as in a report.
    """
    sheet, (axis,) = style.figure("", height=height)
    for place, row in enumerate(rows.values()):
        axis.add_patch(Rectangle((0, place - 0.36), sectors, 0.72, facecolor=style.PALE, linewidth=0))
        for sector, used in row.items():
            full = used == SECTOR
            share = 0.72 * used / SECTOR
            cell = Rectangle((sector, place - 0.36), 1, 0.72, facecolor=style.PAPER, edgecolor=style.INK, linewidth=0.8)
            axis.add_patch(cell)
            fill = style.BLUE if full else style.AMBER
            axis.add_patch(Rectangle((sector, place + 0.36 - share), 1, share, facecolor=fill, linewidth=0))
            axis.add_patch(
                Rectangle((sector, place - 0.36), 1, 0.72, facecolor="none", edgecolor=style.INK, linewidth=0.8)
            )
        _at_the_right(axis, place, row)
    for line in range(0, sectors + 1, LINE // SECTOR):
        axis.axvline(line, color=style.GREY, linewidth=0.6, zorder=0)
    axis.set_xlim(0, sectors)
    axis.set_ylim(len(rows) - 0.45, -0.55)
    axis.set_yticks(range(len(rows)), list(rows))
    places = range(0, sectors * SECTOR + 1, label_every)
    axis.set_xticks([place / SECTOR for place in places], [f"{place:,}" for place in places])
    axis.spines[["left", "bottom"]].set_visible(False)
    style.label(axis, "byte of the array; a line every 128 bytes")
    return sheet


def _at_the_right(axis: Axes, place: int, row: Sectors) -> None:
    """How many sectors a row touches and how much of them it uses."""
    share = sum(row.values()) / (SECTOR * len(row))
    words = f"{len(row)} sectors, {common.percent(share)} used"
    look: dict[str, Any] = {"va": "center", "fontsize": style.text_size(), "color": style.INK}
    axis.text(1.015, place, words, transform=axis.get_yaxis_transform(), **look)


def contiguous() -> Figure:
    """Lanes and the words that they read, in four sectors."""
    touched = request_of(coalescing.contiguous, "x", np.zeros(LANES, np.float32), np.zeros(LANES, np.float32))
    sheet, (axis,) = style.figure("", height=2.5)
    per_sector = SECTOR // WORD
    for lane in range(LANES):
        shapes.box(axis, lane + 0.08, 2.0, 0.84, 0.4, style.PALE, "")
        if lane % 4 == 0 or lane == LANES - 1:
            shapes.words(axis, lane + 0.5, 2.5, str(lane), va="bottom")
        axis.annotate(
            "",
            (lane + 0.5, 1.0),
            (lane + 0.5, 1.95),
            arrowprops={"arrowstyle": "-|>", "color": style.GREY, "linewidth": 1.2},
        )
    for sector in touched:
        shapes.box(axis, sector * per_sector, 0.2, per_sector, 0.75, style.BLUE, f"sector {sector}: 32 bytes")
    axis.plot([0, 0, LANES, LANES], [0.1, -0.02, -0.02, 0.1], color=style.INK, linewidth=1.5)
    shapes.words(axis, LANES / 2, -0.15, f"{len(touched)} sectors make a line of 128 bytes", va="top")
    shapes.words(axis, -0.4, 2.2, "lane", ha="right")
    shapes.words(axis, -0.4, 0.57, "memory", ha="right")
    shapes.bare(axis, (-3.6, LANES + 0.2), (-0.75, 3.0))
    return sheet


def strides() -> Figure:
    """Requests at the strides of the ladder, on one axis."""
    chosen = (1, 2, 3, 8, 32)
    return strips({f"stride {s}": a_stride(s) for s in chosen}, 128, 512, height=4.4)


def offsets() -> Figure:
    """Requests that begin at a sector, inside of one, and at the next."""
    names = {"x[i]": 0, "x[i + 1]": 1, "x[i + 8]": 8}
    return strips({name: an_offset(offset) for name, offset in names.items()}, 8, 32, height=2.4)


def layouts() -> Figure:
    """A request for x of 32 points, in both layouts."""
    points, fields = np.zeros((LANES, layout.FIELDS), np.float32), np.zeros((layout.FIELDS, LANES), np.float32)
    x = np.zeros(LANES, np.float32)
    rows = {
        "structures": request_of(layout.array_of_structures, "points", points, x),
        "arrays": request_of(layout.structure_of_arrays, "fields", fields, x),
    }
    return strips(rows, 16, 128, height=1.9)


def lines() -> Figure:
    """The first sectors of requests at strides 8 and 32, and the 64-byte pieces that these lie in."""
    shown, piece = 16, 2  # sectors
    sheet, (axis,) = style.figure("", height=2.1)
    for place, stride in enumerate((8, 32)):
        row = {sector: used for sector, used in a_stride(stride).items() if sector < shown}
        fetched = {sector // piece * piece + k for sector in row for k in range(piece)}
        for sector in range(shown):
            fill = style.PAPER if sector in row else style.SKY if sector in fetched else style.PALE
            shapes.box(axis, sector, place - 0.36, 1, 0.72, fill, "")
            share = 0.72 * row.get(sector, 0) / SECTOR
            axis.add_patch(Rectangle((sector, place + 0.36 - share), 1, share, facecolor=style.AMBER, linewidth=0))
    axis.set_xlim(0, shown)
    axis.set_ylim(1.55, -0.55)
    axis.set_yticks((0, 1), ("stride 8", "stride 32"))
    places = range(0, shown * SECTOR + 1, LINE)
    axis.set_xticks([place / SECTOR for place in places], [str(place) for place in places])
    axis.spines[["left", "bottom"]].set_visible(False)
    style.label(axis, "byte of the array")
    handles = [Patch(facecolor=style.AMBER, label="used"), Patch(facecolor=style.SKY, label="fetched for nobody")]
    axis.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        fontsize=style.text_size(),
        labelcolor=style.INK,
        frameon=False,
        handlelength=1.2,
    )
    return sheet


def gathered() -> Figure:
    """What the two loads of a gather touch in arrays of 1,024 elements."""
    n = 1024
    index = np.random.default_rng(0).permutation(n).astype(np.int32)
    args = (np.zeros(n, np.float32), index, np.zeros(LANES, np.float32))
    rows = {array: request_of(coalescing.gather, array, *args) for array in ("index", "x")}
    return strips(rows, n * WORD // SECTOR, 512, height=1.9)


def points() -> Figure:
    """Points of four fields one after the other, and the lanes that read their x."""
    shown = 8
    sheet, (axis,) = style.figure("", height=1.35)
    for point in range(shown):
        for k, field in enumerate("xyzw"):
            shapes.box(axis, 4 * point + k, 0, 1, 0.8, style.BLUE if k == 0 else style.PALE, field)
        axis.annotate(
            "", (4 * point + 0.5, 0.85), (4 * point + 0.5, 1.35), arrowprops={"arrowstyle": "-|>", "color": style.INK}
        )
        shapes.words(axis, 4 * point + 0.5, 1.45, f"lane {point}" if point < 2 else str(point), va="bottom")
    shapes.bare(axis, (-1.2, 4 * shown + 0.2), (-0.1, 2.1))
    return sheet


# --- measured -------------------------------------------------------------------------------------------------------


def widths() -> Figure:
    """Bandwidth by bytes a lane, as a share of the copy's, measured on an H200."""
    keys = {1: "cpp:one_byte", 4: "cpp:four_bytes", 8: "cpp:eight_bytes", 16: "cpp:sixteen_bytes"}
    copy = common.bench("width")["ceilings"]["copy"]
    sheet, (axis,) = style.figure("", height=3.5)
    for place, key in enumerate(keys.values()):
        rate = common.rung("width", key)["bandwidth_gb_s"]
        axis.barh(place, rate, height=0.62, color=style.BLUE)
        words = f"{rate:,.0f} GB/s, {common.percent(rate / copy)} of a copy"
        inside = rate > copy / 2
        axis.text(
            rate - 60 if inside else rate + 60,
            place,
            words,
            ha="right" if inside else "left",
            va="center",
            fontsize=style.text_size(),
            color=style.ink_on(style.BLUE) if inside else style.INK,
        )
    axis.axvline(copy, color=style.INK, linestyle="--", linewidth=1.5)
    axis.set_yticks(range(len(keys)), [f"{width} byte{'s' if width > 1 else ''} a lane" for width in keys])
    axis.set_ylim(len(keys) - 0.5, -0.5)
    axis.set_xlim(0, copy * 1.02)
    style.label(axis, "measured bandwidth (GB/s); dashed: CuPy's copy")
    return sheet


# --- a view that begins inside of 16 bytes --------------------------------------------------------------------------


def unaligned_view() -> Figure:
    """Where loads of 16 bytes may begin, and how a view that begins elsewhere is read."""
    words, group, first = 13, 4, 1
    sheet, (axis,) = style.figure("", height=2.6)
    for word in range(words):
        inside = word >= first
        shapes.box(axis, word, 2.0, 1, 0.6, style.PALE if inside else style.PAPER, str(word - first) if inside else "")
    for edge in range(0, words + 1, group):
        axis.plot([edge, edge], [0.0, 2.75], color=style.INK, linewidth=2.5)
        shapes.words(axis, edge, 2.85, f"{edge * WORD}", va="bottom")
    shapes.box(axis, first, 1.15, group, 0.6, style.VERMILION, "16 bytes")
    axis.add_patch(Rectangle((first + group + 0.1, 1.15), 5.9, 0.6, facecolor=style.PAPER, linewidth=0, zorder=3))
    shapes.words(axis, first + group + 0.3, 1.45, "refused: misaligned address", ha="left", zorder=4)
    for word in range(first, group):
        shapes.box(axis, word + 0.05, 0.25, 0.9, 0.6, style.AMBER, "4 B")
    for start in range(group, words - group + 1, group):
        shapes.box(axis, start + 0.05, 0.25, group - 0.1, 0.6, style.GREEN, "16 bytes")
    for row, text in ((2.3, "x[1:], element"), (1.45, "cast"), (0.55, "head, then wide"), (3.05, "byte")):
        shapes.words(axis, -0.25, row, text, ha="right")
    shapes.bare(axis, (-3.6, words + 0.2), (0, 3.4))
    return sheet
