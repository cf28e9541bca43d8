"""Figures of one matrix and of what every kernel does with it, drawn with gpukit's own style."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from gpukit.plots import style
from gpukit.plots.style import AMBER, BLUE, GREY, INK, PALE, SKY, TEXT, VERMILION
from gpukit.registry import CPP

from ..formats import Csr
from .model import Counted, Profile, sectors
from .remarks import LANES

CELLS, VERY_LONG = 256, 8  # of the picture of a pattern along its longer side; sides that differ more get as many
BINS, DECADE = 25, 10  # lengths that span less than a decade stand on a linear axis
HEIGHT = 5.06  # inches: 16 by 9
DARK = "#001B33"


def draw(found: Profile, csr: Csr, folder: Path) -> list[Path]:
    """Write the figures that there is something to see in; their paths.

    rows.png (row lengths), pattern.png (where the entries are), padding.png (slots per entry of ELL and sliced ELL),
    lanes.png (active lanes and sectors per entry of each way, where the CPU machine counted).
    """
    figures: list[tuple[str, Callable[[], Figure]]] = []
    if csr.nnz:
        figures += [("rows", lambda: row_lengths(found, csr)), ("pattern", lambda: pattern(found, csr))]
        figures += [("padding", lambda: padding(found))]
    if any(one.counters for one in found.counted):
        figures += [("lanes", lambda: lanes(found))]
    made = []
    for name, figure in figures:
        made.append(folder / f"{name}.png")
        style.save(figure(), made[-1])
    return made


# --- row lengths -----------------------------------------------------------------------------------------------------


def row_lengths(found: Profile, csr: Csr) -> Figure:
    """How many rows have so many entries, and all rows from the longest to the shortest. Rows are on logarithmic axes,
    and so are entries where they span a decade."""
    stats = found.statistics
    lengths = np.asarray(csr.lengths)
    about = f"{stats.rows:,} {'row' if stats.rows == 1 else 'rows'}, CV {style.number(stats.cv)}."
    if stats.empty:
        about += f" {stats.empty:,} of them {'is' if stats.empty == 1 else 'are'} empty, and not in the figure."
    sheet, (counts, ordered) = style.figure(_rows_title(found), 2, HEIGHT, caption=about)
    filled = lengths[lengths > 0]
    wide = filled.max() >= DECADE * filled.min()
    edges = _edges(int(filled.min()), int(filled.max()), wide)
    rows = np.histogram(filled, edges - 0.5)[0]
    # Each bar covers its lengths; one that stands for a single length is centred on it.
    left = edges[:-1] if wide else edges[:-1] - 0.5
    counts.bar(left, rows, width=np.diff(edges) * (0.94 if wide else 0.84), align="edge", color=BLUE)
    if wide:
        counts.set_xscale("log")
    else:
        counts.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
        counts.set_xlim(edges[0] - 1, edges[-1])
    counts.set_yscale("log")
    counts.set_ylim(0.5, rows.max() * 2)
    style.label(counts, "entries of a row", "rows")
    longest_first = np.sort(filled)[::-1]
    rank = np.arange(1, filled.size + 1)
    ordered.plot(rank, longest_first, color=BLUE, linewidth=2.5, drawstyle="steps-post")
    ordered.axhline(stats.mean, color=VERMILION, linestyle="--", linewidth=1.5)
    ordered.annotate(
        f"mean {style.number(stats.mean)}",
        (1, stats.mean),
        xytext=(4, -4),  # below the line: the longest rows stand above it
        textcoords="offset points",
        va="top",
        fontsize=TEXT,
        color=INK,
    )
    ordered.set_xscale("log")
    if wide:
        ordered.set_yscale("log")
        ordered.set_ylim(min(0.5, stats.mean * 0.5), longest_first[0] * 1.6)
    else:
        ordered.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        ordered.set_ylim(0, longest_first[0] * 1.15)
    style.label(ordered, "rows, longest first", "entries")
    for axis in (counts, ordered):
        _plain_numbers(axis, x=axis is ordered or wide)
        axis.grid(axis="y", color=PALE)
        axis.set_axisbelow(True)
    return sheet


def _rows_title(found: Profile) -> str:
    stats = found.statistics
    if stats.shortest == stats.longest:
        return f"{found.label}: every row has {_entries(stats.longest)}"
    return f"{found.label}: half of the rows have {_entries(stats.median)} or fewer, the longest {stats.longest:,}"


def _entries(count: float) -> str:
    return "1 entry" if count == 1 else f"{style.number(count)} entries"


def _edges(shortest: int, longest: int, wide: bool) -> np.ndarray:
    """Where bins of row lengths begin, and the length after the last: whole numbers, each length in one bin."""
    spaced = np.geomspace if wide else np.linspace
    bins = BINS if wide else min(BINS, longest - shortest + 1)
    return np.unique(np.round(spaced(shortest, longest + 1, bins + 1)).astype(np.int64))


def _plain_numbers(axis: Axes, x: bool = True) -> None:
    """Powers of ten as numbers that a class reads at a glance."""
    for side in (axis.xaxis, axis.yaxis) if x else (axis.yaxis,):
        side.set_major_formatter(FuncFormatter(lambda value, _: _count(value)))
        side.set_minor_locator(NullLocator())


def _count(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


# --- the pattern -----------------------------------------------------------------------------------------------------


def pattern(found: Profile, csr: Csr) -> Figure:
    """Where the entries are: each cell stands for a part of the matrix and is the darker, the more entries it holds."""
    alike = max(csr.shape) < VERY_LONG * min(csr.shape)
    rows, columns = (min(size, max(1, round(CELLS * size / max(csr.shape))) if alike else CELLS) for size in csr.shape)
    row_of = np.repeat(np.arange(csr.rows, dtype=np.int64) * rows // csr.rows, csr.lengths)
    cell = row_of * columns + csr.indices.astype(np.int64) * columns // csr.columns
    cells = np.bincount(cell, minlength=rows * columns).reshape(rows, columns)
    filled = int(np.count_nonzero(cells))
    title = f"{found.label}: entries in {_percent(filled / cells.size)} of {rows} x {columns} parts of the matrix"
    sheet, (axis,) = style.figure(title, height=6.2)
    shown = np.ma.masked_equal(cells, 0)
    least, most = np.percentile(cells[cells > 0], 2), int(cells.max())
    image = axis.imshow(
        shown,
        cmap=LinearSegmentedColormap.from_list("entries", [SKY, BLUE, DARK]),
        norm=LogNorm(least, max(most, 2 * least), clip=True),
        extent=(0, csr.columns, csr.rows, 0),
        aspect="equal" if alike else "auto",
        interpolation="nearest",
    )
    axis.spines[["top", "right"]].set_visible(True)
    axis.spines[:].set_color(GREY)
    for line in (axis.xaxis, axis.yaxis):
        line.set_major_formatter(FuncFormatter(lambda value, _: _count(value)))
    style.label(axis, "column", "row")
    bar = sheet.colorbar(image, ax=axis, shrink=0.8)
    bar.set_label("entries in a part", fontsize=TEXT, color=INK)
    bar.ax.tick_params(labelsize=TEXT, colors=INK)
    ticks = np.unique(np.round(np.geomspace(least, most, 4 if most > 2 * least else 1))).tolist()
    bar.set_ticks(ticks, labels=[f"{tick:,.0f}" for tick in ticks])
    bar.ax.yaxis.set_minor_locator(NullLocator())
    return sheet


def _percent(share: float) -> str:
    """A whole number of percent, or one digit of less than one."""
    return f"{share:.0%}" if share >= 0.01 else f"{100 * share:.1g}%"


# --- padding ---------------------------------------------------------------------------------------------------------


def padding(found: Profile) -> Figure:
    """Slots for each entry of ELL and of sliced ELL, by the number of rows that are sorted together."""
    fills = found.padding
    names = [name if name == "ELL" else _sliced_name(name) for name in fills]
    values = list(fills.values())
    sheet, (axis,) = style.figure(
        _padding_title(found),
        height=HEIGHT,
        caption="1 is no padding: every slot holds an entry. Sliced ELL with slices of 32 rows.",
    )
    colours = [AMBER if name == "ELL" else BLUE for name in fills]
    if max(values) > 20 * min(values):
        axis.barh(range(len(names)), [value - 0.9 for value in values], left=0.9, color=colours, height=0.62)
        axis.set_xscale("log")
        axis.set_xlim(0.9, max(values) * 6)
        axis.set_yticks(range(len(names)), names)
        axis.invert_yaxis()
        for place, value in enumerate(values):
            axis.text(value, place, f"  {_fill(value)}", va="center", fontsize=TEXT, color=INK)
        _plain_numbers(axis, x=True)
        axis.set_yticks(range(len(names)), names)
        style.label(axis, "slots for each entry")
        return sheet
    style.bars(axis, names, values, colours, "slots for each entry", "{:.2f}")
    return sheet


def _fill(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _sliced_name(sigma: str) -> str:
    words = {"1": "unsorted", "all": "all sorted"}
    return f"sliced, {words.get(sigma) or f'{int(sigma):,} sorted'}"


def _padding_title(found: Profile) -> str:
    fills = found.padding
    if fills["ELL"] < 1.1:
        pads = "hardly pads" if fills["ELL"] < 1.005 else f"pads only {fills['ELL'] - 1:.0%}"
        return f"{found.label}: rows are alike, and even ELL {pads}"
    return (
        f"{found.label}: ELL has {_fill(fills['ELL'])} slots for each entry, sliced ELL {_fill(fills['1'])}, and "
        f"{_fill(fills['all'])} where all rows are sorted"
    )


# --- lanes -----------------------------------------------------------------------------------------------------------


def lanes(found: Profile) -> Figure:
    """How many lanes of a warp work in each way, and what it moves for each entry, as the CPU machine counted."""
    shown = [one for one in found.counted if one.counters]
    names = [_name(one) for one in shown]
    active = [one.counters["active_lanes_per_instruction"] for one in shown]
    entries = found.sample.entries if found.sample else found.statistics.nnz
    moved = [sectors(one.counters) / max(entries, 1) for one in shown]
    best, worst = int(np.argmax(active)), int(np.argmin(active))
    title = (
        f"{found.label}: {names[worst]} keeps {active[worst]:.1f} of {LANES} lanes at work, {names[best]} "
        f"{active[best]:.1f}"
    )
    where = f"Counted on {found.sample.rows:,} of {found.statistics.rows:,} rows. " if found.sample else ""
    height = max(HEIGHT, 1.8 + 0.36 * len(names))
    sheet, (left, right) = style.figure(title, 2, height, caption=f"{where}CPU machine, {found.dtype}.")
    colours = [BLUE if one.way == found.choice.way else GREY for one in shown]
    style.bars(left, names, active, colours, f"active lanes of {LANES}", "{:.1f}")
    left.set_xlim(0, LANES * 1.25)  # a bar that is full is as long in every figure
    style.bars(right, names, moved, colours, "sectors moved for each entry", "{:.2f}")
    right.set_yticks([])
    return sheet


def _name(one: Counted) -> str:
    return f"{one.way} (C++)" if one.language == CPP else one.way
