"""Figures of the deck on sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

import gpukit
from gpukit.kernels import spmv as kernels
from gpukit.plots import style
from gpukit.plots.style import AMBER, BLUE, GREEN, GREY, INK, PALE, PAPER, PURPLE, SKY, VERMILION
from gpukit.slides.stepper import Stepper

from ..numbers import spmv as numbers
from . import shapes

ROWS_OF_EXAMPLE = (BLUE, AMBER, GREEN, PURPLE)
DATA, INDICES, INDPTR = (10, 2, 3, 4, 5, 7), (0, 3, 1, 0, 2, 3), (0, 2, 3, 5, 6)
MIXED = (4, 64, 15, 3, 70, 14, 5, 61, 16, 4, 66, 15)  # row lengths: short, medium and long ones as they come
RARE = "chowder"


def csr() -> Figure:
    """The 4 x 4 example: the matrix, and the three arrays of CSR, coloured by row."""
    sheet, (left, right) = style.figure("", 2, 3.6, (1, 1.75))
    size = style.text_size()
    shapes.bare(left, (-0.9, 4.3), (4.4, -0.9))
    for row in range(4):
        left.text(-0.55, row + 0.5, f"row {row}", ha="right", va="center", fontsize=size, color=INK)
        left.text(row + 0.5, -0.35, str(row), ha="center", va="center", fontsize=size, color=GREY)
        for column in range(4):
            left.add_patch(Rectangle((column, row), 1, 1, fc="none", ec=GREY, lw=1))
    for row in range(4):
        for k in range(INDPTR[row], INDPTR[row + 1]):
            _cell(left, INDICES[k], row, DATA[k], ROWS_OF_EXAMPLE[row])
    left.set_xlim(-2.1, 4.3)
    shapes.bare(right, (-2.6, 6.4), (4.4, -0.9))
    for place, (name, values) in enumerate((("data", DATA), ("indices", INDICES), ("row pointer", INDPTR))):
        top = 0.15 + 1.45 * place
        right.text(-0.25, top + 0.5, name, ha="right", va="center", fontsize=size, color=INK)
        for k, value in enumerate(values):
            row = k if name == "row pointer" else int(np.searchsorted(INDPTR, k, side="right")) - 1
            fill = ROWS_OF_EXAMPLE[row] if row < 4 else PALE
            _cell(right, k, top, value, fill)
    return sheet


def rows_of_words() -> Figure:
    """Entries of all rows of the matrix of words, longest first."""
    matrix = numbers.words()
    ordered = np.sort(matrix.row_lengths)[::-1]
    sheet, (axis,) = style.figure("", height=3.5)
    axis.plot(np.arange(1, ordered.size + 1), np.maximum(ordered, 1), color=BLUE, linewidth=4)
    for word in ("the", numbers.WORD, "harpoon"):
        length = int(matrix.row_lengths[matrix.words.index(word)])
        at = int(np.searchsorted(-ordered, -length)) + 1
        axis.plot([at], [length], "o", color=VERMILION, markersize=11)
        axis.annotate(
            f"{word}: {length:,}",
            (at, length),
            xytext=(12, 4),
            textcoords="offset points",
            fontsize=style.text_size(),
            color=INK,
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(0.9, ordered.size * 1.6)
    for form in (axis.xaxis, axis.yaxis):
        form.set_major_formatter(lambda value, _: f"{value:,.0f}")
        form.set_minor_formatter(lambda value, _: "")
    axis.grid(color=PALE)
    axis.set_axisbelow(True)
    style.label(axis, "rows, longest first", "entries")
    return sheet


def lanes_of_a_warp() -> Figure:
    """A thread a row: how long each lane of the warp of `whale` works, and how long it waits."""
    warp, matrix = numbers.warp(), numbers.words()
    lengths, names = matrix.row_lengths[warp], matrix.words[warp]
    sheet, (axis,) = style.figure("", height=4.0)
    lanes = np.arange(32)
    axis.bar(lanes, lengths.max(), width=0.86, color=PALE, label="waits for the longest row")
    axis.bar(lanes, lengths, width=0.86, color=BLUE, label="works: an entry a step")
    axis.set_xticks(lanes, names, rotation=90)
    axis.set_xlim(-0.6, 31.6)
    axis.set_ylim(0, lengths.max())
    style.label(axis, "", "steps of the loop")
    style.legend(axis, axis.get_legend_handles_labels()[0][::-1], 2)
    return sheet


def steps() -> Stepper:
    """One thread a row, step by step, on the warp of a rare word: its rows are short, and end one after the other."""
    matrix = numbers.words()
    first = matrix.words.index(RARE) // 32 * 32
    pointer = matrix.indptr[first : first + 33]
    entries = slice(int(pointer[0]), int(pointer[-1]))
    arrays = (pointer - pointer[0]).astype(np.int32), matrix.indices[entries], matrix.data[entries]
    x, y = np.ones(matrix.rows, np.float32), np.zeros(32, np.float32)
    trace = gpukit.trace(kernels.row_per_thread, 1, 32, *arrays, x, y)
    lines = ("for k in", "total +=", "y[row] =")
    return Stepper.of(trace, warps=(0,), lines=lines, at=13, title=f"One thread a row, the warp of '{RARE}'")


def gather_of_x() -> Figure:
    """Which elements of x the 32 lanes of one request ask for: the first entries of the row of `whale`."""
    matrix = numbers.words()
    row = matrix.words.index(numbers.WORD)
    columns = matrix.indices[matrix.indptr[row] : matrix.indptr[row] + 32]
    shown = int(columns.max()) + 60
    sheet, (axis,) = style.figure("", height=2.75)
    size = style.text_size()
    shapes.bare(axis, (-shown * 0.02, shown * 1.02), (-0.62, 2.5))
    sectors = np.unique(columns // 8)
    axis.add_patch(Rectangle((0, 0), shown, 0.3, fc=PALE, ec="none"))
    for column in sectors:
        axis.add_patch(Rectangle((column * 8, 0), max(8, shown / 260), 0.3, fc=VERMILION, ec="none"))
    width = shown / 32
    for lane, column in enumerate(columns):
        at = (lane + 0.5) * width
        axis.add_patch(Rectangle((lane * width + width * 0.05, 1.75), width * 0.9, 0.42, fc=BLUE, ec="none"))
        axis.text(at, 1.955, str(lane), ha="center", va="center", fontsize=size, color=style.ink_on(BLUE))
        axis.plot([at, column], [1.72, 0.33], color=GREY, linewidth=1.2)
    axis.text(0, 2.36, "lanes of one request", fontsize=size, color=INK, va="center")
    axis.text(
        0,
        -0.36,
        f"x, elements 0 to {shown:,} of {matrix.rows:,}: {sectors.size} sectors for 32 elements",
        fontsize=size,
        color=INK,
        va="center",
    )
    return sheet


def ell() -> Figure:
    """Twelve rows of 3 to 70 entries in ELL: every row gets as many slots as the longest."""
    sheet, (axis,) = style.figure("", height=3.6)
    _padded(axis, [(length, max(MIXED)) for length in MIXED])
    _legend_of_slots(axis, MIXED, max(MIXED) * len(MIXED))
    return sheet


def sliced_ell() -> Figure:
    """The same rows sorted and cut in slices of four: each slice as wide as its own longest row."""
    ordered = sorted(MIXED)
    slices = [ordered[k : k + 4] for k in range(0, len(ordered), 4)]
    sheet, (axis,) = style.figure("", height=3.6)
    rows = [(length, max(one)) for one in slices for length in one]
    _padded(axis, rows, gap=0.7)
    for place, (one, name) in enumerate(zip(slices, ("short", "medium", "long"), strict=True)):
        about = f"{min(one)}-{max(one)} -> {max(one)} slots"
        about = f"{name}:\n{about}" if max(one) > 40 else f"{name}: {about}"
        look: dict[str, Any] = {"fontsize": style.text_size(), "va": "center", "color": INK}
        axis.text(
            max(one) + 1.2, place * 4.7 + 2, about.replace(" slots", "\nslots") if max(one) > 40 else about, **look
        )
    axis.set_xlim(0, 84)
    axis.set_xticks(range(0, 71, 10))
    _legend_of_slots(axis, MIXED, sum(width for _, width in rows))
    return sheet


def permutation() -> Figure:
    """Rows in the order of the matrix, places after sorting, and the map back."""
    lengths = (3, 6, 1, 5, 2, 4)
    order = sorted(range(6), key=lambda row: -lengths[row])
    sheet, (axis,) = style.figure("", height=3.5)
    size = style.text_size()
    shapes.bare(axis, (-2, 30), (6.2, -0.9))
    for row, length in enumerate(lengths):
        axis.text(-0.3, row + 0.5, f"row {row}", ha="right", va="center", fontsize=size, color=INK)
        for k in range(length):
            axis.add_patch(Rectangle((k * 0.9, row + 0.1), 0.82, 0.8, fc=BLUE, ec="none"))
    for place, row in enumerate(order):
        at = 13.2
        axis.text(at - 0.3, place + 0.5, f"place {place}", ha="right", va="center", fontsize=size, color=INK)
        for k in range(lengths[row]):
            axis.add_patch(Rectangle((at + k * 0.9, place + 0.1), 0.82, 0.8, fc=BLUE, ec="none"))
        for k in range(lengths[row], lengths[order[place // 2 * 2]]):
            axis.add_patch(Rectangle((at + k * 0.9, place + 0.1), 0.82, 0.8, fc=PALE, ec=GREY, hatch="//", lw=0))
        axis.plot([lengths[row] * 0.9 + 0.2, 10.1], [row + 0.5, place + 0.5], color=GREY, linewidth=1.6)
        axis.add_patch(Rectangle((22, place + 0.1), 1.6, 0.8, fc=SKY, ec="none"))
        axis.text(22.8, place + 0.5, str(row), ha="center", va="center", fontsize=size, color=style.ink_on(SKY))
        axis.text(24.2, place + 0.5, f"y[{row}]", ha="left", va="center", fontsize=size, color=INK)
    axis.text(0, -0.5, "the matrix", fontsize=size, color=INK, va="center")
    axis.text(13.2, -0.5, "slices of two", fontsize=size, color=INK, va="center")
    axis.text(21.4, -0.5, "permutation", fontsize=size, color=INK, va="center")
    return sheet


def rows_by_length() -> Figure:
    """What a warp's 32 lanes do: a row each, four rows of eight lanes, or one row."""
    kinds = (
        ("short rows: one thread each", 1),
        ("medium rows: several threads", 8),
        ("long rows: one warp or more", 32),
    )
    sheet, (axis,) = style.figure("", height=2.9)
    size = style.text_size()
    shapes.bare(axis, (-0.2, 32.2), (3 * 1.75, -0.2))
    fills = (BLUE, SKY)
    for place, (name, lanes) in enumerate(kinds):
        top = place * 1.75
        axis.text(0, top + 0.25, name, fontsize=size, color=INK, va="center")
        for row in range(32 // lanes):
            text = "one row" if lanes == 32 else f"row {row}" if lanes > 1 else str(row)
            fill = fills[row % 2]
            axis.add_patch(Rectangle((row * lanes + 0.04, top + 0.62), lanes - 0.08, 0.8, fc=fill, ec="none"))
            look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size, "color": style.ink_on(fill)}
            axis.text((row + 0.5) * lanes, top + 0.98, text, **look)
        for lane in range(1, 32):
            axis.plot([lane, lane], [top + 1.3, top + 1.42], color=PAPER, linewidth=2)
    return sheet


def merge_path() -> Figure:
    """Entries and row ends in one list, cut into parts of equal size."""
    lengths, parts = (2, 9, 1, 0, 4), 3
    sheet, (axis,) = style.figure("", height=2.6)
    size = style.text_size()
    items = [(row, kind) for row, length in enumerate(lengths) for kind in ("entry",) * length + ("end",)]
    shapes.bare(axis, (-0.3, len(items) + 0.3), (3.0, -0.9))
    fills = (BLUE, AMBER, GREEN, PURPLE, SKY)
    for k, (row, kind) in enumerate(items):
        if kind == "entry":
            axis.add_patch(Rectangle((k + 0.05, 0.1), 0.9, 0.9, fc=fills[row], ec="none"))
        else:
            axis.add_patch(Rectangle((k + 0.05, 0.1), 0.9, 0.9, fc="none", ec=INK, lw=2))
            axis.text(k + 0.5, 0.55, str(row), ha="center", va="center", fontsize=size, color=INK)
    share = len(items) / parts
    for part in range(parts):
        left, right = part * share, (part + 1) * share
        axis.annotate(
            "",
            (left + 0.08, 1.55),
            (right - 0.08, 1.55),
            arrowprops={"arrowstyle": "<->", "color": VERMILION, "linewidth": 2.5},
        )
        axis.text((left + right) / 2, 2.15, f"thread {part}: {share:g} items", ha="center", fontsize=size, color=INK)
        if part:
            axis.plot([left, left], [-0.2, 1.3], color=VERMILION, linewidth=3)
    axis.text(0, -0.55, "entries, coloured by row, and the ends of rows", fontsize=size, color=INK, va="center")
    return sheet


def contenders() -> Figure:
    """Our kernel, the best of cuSPARSE and CuPy on six matrices, as parts of a copy's bandwidth."""
    names = ("poisson2d", "fem_blocks", "road", "arrow", "circuit5M", "uniform")
    groups = (
        ("hybrid, as chosen", ("hybrid",), BLUE),
        ("best of cuSPARSE", ("cusparse",), AMBER),
        ("CuPy", ("cupyx",), GREY),
    )
    sheet, (axis,) = style.figure("", height=4.1)
    size = style.text_size()
    for place, name in enumerate(names):
        found = numbers.matrix_of(name)
        for k, (label, wanted, colour) in enumerate(groups):
            share = numbers.best_of(found, wanted)
            at = place - 0.27 + 0.27 * k
            axis.barh(at, share, height=0.25, color=colour, label=label if not place else None)
            if k == 0:
                axis.text(share + 0.01, at, f"{share:.0%}", va="center", fontsize=size, color=INK)
    axis.axvline(1, linestyle="--", color=INK, linewidth=1.5)
    axis.set_yticks(range(len(names)), [numbers.MATRICES[name] for name in names])
    axis.invert_yaxis()
    axis.set_xlim(0, 1.34)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    style.label(axis, "part of a copy's bandwidth (dashed: a copy)")
    style.legend(axis, axis.get_legend_handles_labels()[0], 3)
    return sheet


# --- help ------------------------------------------------------------------------------------------------------------


def _cell(axis: Axes, x: float, y: float, value: Any, fill: str) -> None:
    axis.add_patch(Rectangle((x + 0.04, y + 0.04), 0.92, 0.92, fc=fill, ec="none"))
    ink = style.ink_on(fill)
    axis.text(x + 0.5, y + 0.5, str(value), ha="center", va="center", fontsize=1.1 * style.text_size(), color=ink)


def _padded(axis: Axes, rows: Sequence[tuple[int, int]], gap: float = 0.0) -> None:
    """Rows as strips of slots: entries full, padding hatched; a gap after each four."""
    for place, (length, width) in enumerate(rows):
        top = place + gap * (place // 4)
        axis.add_patch(Rectangle((0, top + 0.08), width, 0.84, fc=PALE, ec=GREY, hatch="//", lw=0))
        axis.add_patch(Rectangle((0, top + 0.08), length, 0.84, fc=BLUE, ec="none"))
    axis.set_xlim(0, 71)
    axis.set_ylim(len(rows) + gap * 2 + 0.1, -0.1)
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    style.label(axis, "slots of a row")


def _legend_of_slots(axis: Axes, lengths: Sequence[int], slots: int) -> None:
    share = slots / sum(lengths)
    handles = [
        Patch(color=BLUE, label=f"entry ({sum(lengths)})"),
        Patch(facecolor=PALE, edgecolor=GREY, hatch="//", label=f"padding ({slots - sum(lengths)})"),
        Patch(color="none", label=f"{share:.2f} slots for each entry"),
    ]
    style.legend(axis, handles, 3)
