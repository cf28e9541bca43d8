"""Figures of `gpukit bench spmv`, from what it measured: contenders by matrix, and all kernels by matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gpukit.plots import style
from gpukit.registry import NUMBA

from . import summary

Result = dict[str, Any]
CONTENDERS = {"chosen": style.BLUE, "cuSPARSE": style.AMBER, "CuPy": style.GREY}
WHITE_FROM = 0.55  # of the colour scale: from here on numbers are white
SECTORS = "global_load_sectors"


def draw(result: Result, folder: Path, say: Callable[[str], None]) -> list[Path]:
    """Write the figures that a result has the data for into a folder; their paths. `say` is told what cannot be drawn.

    spmv_matrices.png (a GPU): chosen kernel, CuPy and the best of cuSPARSE. spmv_kernels.png: every kernel on every
    matrix, as a part of the copy's bandwidth, or on the CPU machine by the sectors it loads.
    """
    figures = {"spmv_matrices": contenders, "spmv_kernels": kernels}
    return style.save_all({name: partial(figure, result) for name, figure in figures.items()}, folder, say)


def _caption(result: Result) -> str:
    about = result["machine"]
    where = about.get("gpu", "an NVIDIA GPU") if result["device"] == "gpu" else "CPU machine"
    return f"{where}, {result['dtype']} values, {result['pointer']} row pointer, {about['date']}."


# --- chosen kernel, CuPy, cuSPARSE -----------------------------------------------------------------------------------


def contenders(result: Result) -> Figure | None:
    """A group of bars for each matrix, as parts of the measured copy's bandwidth; None without times of a GPU."""
    rows = []
    for matrix in result["matrices"]:
        found = {
            "chosen": summary.chosen_of(matrix),
            "cuSPARSE": summary.best(matrix["entries"], summary.CUSPARSE),
            "CuPy": summary.best(matrix["entries"], summary.CUPYX),
        }
        shares = {name: entry["fraction_of_copy"] for name, entry in found.items() if entry and entry["timing"]}
        if shares.get("chosen"):
            rows.append((matrix, shares))
    if not rows:
        return None
    sheet, (axis,) = style.figure(
        _title(result, rows),
        height=2.3 + 0.62 * len(rows),
        caption=f"{_caption(result)} Bytes as CSR has them, x and y once, over the time, as a part of the bandwidth of "
        f"a copy ({result['ceilings']['copy']:,.0f} GB/s). The L2 cache was emptied before every product. * fits into "
        "200 MB, so that its x may stay in the cache.",
    )
    height = 0.8 / len(CONTENDERS)
    for place, (_, shares) in enumerate(rows):
        for k, (name, colour) in enumerate(CONTENDERS.items()):
            if name not in shares:
                continue
            at = place - 0.4 + (k + 0.5) * height
            axis.barh(at, shares[name], height=0.92 * height, color=colour)
            axis.text(shares[name], at, f" {shares[name]:.0%}", va="center", fontsize=8.5, color=style.INK)
    axis.axvline(1, linestyle="--", color=style.INK, linewidth=1.5)
    axis.set_yticks(range(len(rows)), [_name(matrix) for matrix, _ in rows])
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(0, 1.08 * max(1.0, *(max(shares.values()) for _, shares in rows)))
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    style.label(axis, "part of a copy's bandwidth")
    words = {"chosen": "kernel that choose_format chose", "cuSPARSE": "best of cuSPARSE", "CuPy": "CuPy, A @ x"}
    handles: list[Any] = [Patch(color=colour, label=words[name]) for name, colour in CONTENDERS.items()]
    handles.append(Line2D([], [], linestyle="--", color=style.INK, label="copy"))
    style.legend(axis, handles, columns=4, at_edge=True)
    return sheet


def _name(matrix: dict[str, Any]) -> str:
    timed = any(entry["timing"] for entry in matrix["entries"])
    return style.plain(matrix["name"]) + (" *" if timed and not matrix["large"] else "")


def _title(result: Result, rows: Sequence[Any]) -> str:
    found = result["summary"]["over_cusparse"]
    of = f"{len(rows)} {'matrix' if len(rows) == 1 else 'matrices'}"
    if not found["mean"]:
        return f"The chosen kernel on {of}"
    least = f"; least, {found['least']:.2f} times, on {found['where']}" if found["matrices"] > 1 else ""
    return f"The chosen kernel is {found['mean']:.2f} times as fast as the best of cuSPARSE on {of}{least}"


# --- every kernel on every matrix ------------------------------------------------------------------------------------


def kernels(result: Result) -> Figure | None:
    """A table in colours, a row for each matrix and a column for each kernel in its faster language."""
    gpu = result["device"] == "gpu"
    keys = summary.columns(result["matrices"])
    values = np.full((len(result["matrices"]), len(keys)), np.nan)
    for row, matrix in enumerate(result["matrices"]):
        for column, key in enumerate(keys):
            found = [e for e in summary.of_column(matrix, key) if (e["timing"] if gpu else e["counters"])]
            if found:
                values[row, column] = _value(found, matrix, gpu)
    if not np.isfinite(values).any():
        return None
    unit = (
        "percent of a copy's bandwidth, in the faster language"
        if gpu
        else "32-byte sectors loaded for each stored entry, by the kernel in Python at source level"
    )
    sheet, (axis,) = style.figure(
        _kernels_title(keys, values, gpu),
        height=3.6 + 0.34 * len(result["matrices"]),
        caption=f"{_caption(result)} Numbers: {unit}. Outlined: what "
        "choose_format chose. Empty: not run, since it would take too much memory or time; WRONG answers have no time.",
    )
    scale = np.log(values) if not gpu else values
    low, high = np.nanmin(scale), np.nanmax(scale)
    shades = (scale - low) / (high - low) if high > low else np.where(np.isfinite(scale), 0.5, np.nan)
    axis.imshow(shades, cmap="Blues", vmin=-0.1, vmax=1.1, aspect="auto")
    for row, matrix in enumerate(result["matrices"]):
        for column, key in enumerate(keys):
            if np.isfinite(values[row, column]):
                told = f"{100 * values[row, column]:.0f}" if gpu else f"{values[row, column]:.2f}"
                colour = "white" if shades[row, column] > WHITE_FROM else style.INK
                axis.text(column, row, told, ha="center", va="center", fontsize=9.5, color=colour)
            if any(entry["chosen"] for entry in summary.of_column(matrix, key)):
                box = {"fill": False, "edgecolor": style.VERMILION, "linewidth": 2.5}
                axis.add_patch(_cell(column, row, **box))
    axis.set_yticks(range(len(result["matrices"])), [_name(matrix) for matrix in result["matrices"]])
    axis.set_xticks(range(len(keys)), [short(key) for key in keys], rotation=45, ha="left", rotation_mode="anchor")
    axis.xaxis.tick_top()
    axis.spines[:].set_visible(False)
    return sheet


def _cell(column: int, row: int, **options: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.47, row - 0.47), 0.94, 0.94, **options)


def _value(found: Sequence[dict[str, Any]], matrix: dict[str, Any], gpu: bool) -> float:
    if gpu:
        return max(entry["fraction_of_copy"] for entry in found)
    entry = min(found, key=lambda entry: entry["language"] != NUMBA)
    return entry["counters"][SECTORS] / max(matrix["nnz"], 1)


def _kernels_title(keys: Sequence[str], values: np.ndarray, gpu: bool) -> str:
    """Which kernel is best on how many matrices; with options of its own it is the same kernel."""
    best = np.nanargmax if gpu else np.nanargmin
    measured = [row for row in values if np.isfinite(row).any()]
    wins = Counter(keys[int(best(row))].partition("(")[0].partition(",")[0] for row in measured)
    winner, count = wins.most_common(1)[0]
    where = "every matrix" if count == len(measured) else f"{count} of {len(measured)} matrices"
    return f"{winner} {'is fastest' if gpu else 'loads least'} on {where}"


def short(key: str) -> str:
    """A variant's name for a narrow column: "csr_subwarp(lanes=4)" -> "csr_subwarp 4"."""
    way, _, rest = key.removesuffix(")").partition("(")
    told = [f"{name[0]}{value}" if name != "lanes" else value for name, _, value in _pairs(rest)]
    return " ".join([way, *told])


def _pairs(text: str) -> list[tuple[str, str, str]]:
    return [part.partition("=") for part in text.split(", ") if part]
