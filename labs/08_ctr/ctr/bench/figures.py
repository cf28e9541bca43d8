"""Figures of `gpukit bench ctr`, from what it measured: the ladder, where the time goes, sectors by width of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gpukit.plots import style

from . import summary
from .summary import Entry, Result

COLOURS = {
    "matrix products": style.BLUE,
    "elementwise passes": style.SKY,
    "gather": style.GREEN,
    "update": style.AMBER,
    "sort": style.VERMILION,
    "Adam": style.PURPLE,
    "copies": style.GREY,
}
COUNTED = ("matrix products", "gather", "update")  # whose operations and bytes make the floor
WAITING = "launches, waiting"
ROOM = 1.4  # of the widest bar: behind it stand the numbers
REACH = 1.05  # of the widest bar: as far as a floor is drawn


def draw(result: Result, folder: Path, say: Callable[[str], None]) -> list[Path]:
    """Write the figures that a result has the data for into a folder; their paths. `say` is told what cannot be drawn.

    ctr_ladder.png and ctr_profile.png (a GPU): samples a second rung by rung, and what the time of a step is made of.
    ctr_sectors.png (the CPU machine): sectors that the gathers load, by the width of a row.
    """
    figures = {"ctr_ladder": rungs, "ctr_profile": profiles, "ctr_sectors": sectors}
    return style.save_all({name: partial(figure, result) for name, figure in figures.items()}, folder, say)


def _caption(result: Result) -> str:
    model, made = result["model"], result["machine"]
    rows = sum(model["fields"].values())
    return (
        f"{made.get('gpu', 'an NVIDIA GPU')}, {made['date']}. {len(model['fields'])} fields of {rows:,} rows, "
        f"embeddings of {model['dim']}, network {'-'.join(map(str, (*model['hidden'], 1)))}."
    )


# --- the ladder ------------------------------------------------------------------------------------------------------


def rungs(result: Result) -> Figure | None:
    """Bars of samples a second, a panel for each batch, with the floor where it is in reach; None without times."""
    if result["device"] != "gpu":
        return None
    ladders = {
        batch: timed
        for batch, found in summary.ladders(result).items()
        if (timed := [rung for rung in found if "samples_per_second" in rung])
    }
    if not ladders:
        return None
    count = max(map(len, ladders.values()))
    sheet, axes = style.figure(
        _ladder_title(ladders),
        height=1.9 + (0.9 + 0.31 * count) * len(ladders),
        rows=len(ladders),
        caption=f"{_caption(result)} Percent: of the floor, which is the bytes that a step must move at the "
        f"bandwidth of a copy ({result['ceilings']['copy']:,.0f} GB/s) and then its matrix products at the rate of a "
        "large one. Median of rounds of many steps.",
    )
    for axis, (batch, timed) in zip(axes, ladders.items(), strict=True):
        _ladder(axis, batch, timed)
    return sheet


def _ladder(axis: Axes, batch: int, timed: Sequence[Entry]) -> None:
    speeds = [rung["samples_per_second"] / 1e6 for rung in timed]
    edge = ROOM * max(speeds)
    colours = [style.AMBER if rung["name"] == summary.LARGE else style.BLUE for rung in timed]
    axis.barh(range(len(timed)), speeds, height=0.66, color=colours)
    for place, (rung, speed) in enumerate(zip(timed, speeds, strict=True)):
        floor = rung["batch"] / rung["floor_seconds"] / 1e6
        told = f"{style.number(speed)} M, {_share(rung['fraction'])}"
        axis.text(edge, place, told, va="center", ha="right", fontsize=10.5, color=style.INK)
        if floor <= REACH * max(speeds):
            axis.plot([floor, floor], [place - 0.4, place + 0.4], color=style.VERMILION, linewidth=2.5)
    axis.set_yticks(range(len(timed)), [style.plain(rung["change"]) for rung in timed], fontsize=10)
    axis.set_ylim(len(timed) - 0.5, -0.5)
    axis.set_xlim(0, edge)
    axis.set_title(f"Batch {batch:,}", loc="left", fontsize=style.TEXT, fontweight="bold", color=style.INK)
    style.label(axis, "million samples a second")
    line = Line2D([], [], color=style.VERMILION, linewidth=2.5, label="floor")
    axis.legend(handles=[line], loc="lower right", bbox_to_anchor=(1, 0.99), frameon=False, fontsize=10.5)


def _share(fraction: float) -> str:
    return f"{100 * fraction:.0f} %" if fraction >= 0.0995 else f"{100 * fraction:.1f} %"


def _ladder_title(ladders: dict[int, list[Entry]]) -> str:
    parts = []
    for batch, found in ladders.items():
        fastest, times = summary.best(found), summary.over_eager(found)
        if fastest is not None:
            told = f"{style.number(fastest['samples_per_second'] / 1e6)} M samples/s at batch {batch:,}"
            parts.append(told + (f", {style.number(times)} times eager dense Adam" if times else ""))
    return "; ".join(parts) or "The ladder of speed"


# --- where the time goes ---------------------------------------------------------------------------------------------


def profiles(result: Result) -> Figure | None:
    """A stacked bar for each profiled rung, as parts of its step, and where its floor is; None without profiles."""
    if result["device"] != "gpu":
        return None
    by_batch = {
        batch: measured
        for batch, found in summary.profiles(result).items()
        if (measured := [entry for entry in found if "groups" in entry])
    }
    if not by_batch:
        return None
    floors = {(rung["batch"], rung["name"]): rung.get("fraction") for rung in result["ladder"]}
    count = max(map(len, by_batch.values()))
    sheet, axes = style.figure(
        _profile_title(by_batch),
        height=2.6 + (0.8 + 0.42 * count) * len(by_batch),
        rows=len(by_batch),
        caption=f"{_caption(result)} Kernels that run side by side count each for itself, so a bar may pass 100 %. The "
        "line is the floor of the step's bytes and matrix products.",
    )
    for axis, (batch, measured) in zip(axes, by_batch.items(), strict=True):
        _stacked(axis, batch, measured, floors)
    used = {name for found in by_batch.values() for entry in found for name in entry["groups"]}
    handles: list[Any] = [Patch(color=colour, label=name) for name, colour in COLOURS.items() if name in used]
    handles += [Patch(color=style.PALE, label=WAITING), Line2D([], [], color=style.INK, linewidth=2.5, label="floor")]
    style.legend(axes[0], handles, columns=4, at_edge=True)
    return sheet


def _stacked(axis: Axes, batch: int, measured: Sequence[Entry], floors: dict[tuple[int, str], float | None]) -> None:
    for place, entry in enumerate(measured):
        left = 0.0
        shares = {name: entry["groups"].get(name, {"us": 0.0})["us"] / entry["us_of_step"] for name in COLOURS}
        for name, share in shares.items():
            axis.barh(place, share, left=left, height=0.7, color=COLOURS[name])
            left += share
        axis.barh(place, max(0.0, 1 - left), left=left, height=0.7, color=style.PALE)
        axis.text(max(1.0, left), place, f" {entry['us_of_step']:,.0f} us", va="center", fontsize=10, color=style.INK)
        floor = floors.get((batch, entry["rung"]))
        if floor is not None:
            axis.plot([floor, floor], [place - 0.42, place + 0.42], color=style.INK, linewidth=2.5)
    axis.set_yticks(range(len(measured)), [entry["rung"] for entry in measured])
    axis.set_ylim(len(measured) - 0.5, -0.5)
    longest = max(sum(group["us"] for group in entry["groups"].values()) / entry["us_of_step"] for entry in measured)
    axis.set_xlim(0, max(1.0, longest) + 0.3)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1.0, *([1.25] if longest > 1.2 else []), *([1.5] if longest > 1.45 else [])])
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    style.label(axis, f"part of a step at batch {batch:,}")


def _profile_title(by_batch: dict[int, list[Entry]]) -> str:
    """How much of the last rung's step is what the floor counts."""
    parts = []
    for batch, found in by_batch.items():
        last = found[-1]
        us = sum(last["groups"].get(name, {"us": 0.0})["us"] for name in COUNTED)
        parts.append(f"{100 * us / last['us_of_step']:.0f} % at batch {batch:,}")
    rung = next(iter(by_batch.values()))[-1]["rung"]
    return f"Matrix products, gather and update are {' and '.join(parts)} of a step of the rung {rung}"


# --- sectors on the CPU machine --------------------------------------------------------------------------------------


def sectors(result: Result) -> Figure | None:
    """Sectors that the gathers load for an id, by numbers of a row and order of ids; None where nothing was counted."""
    found = [entry for entry in result.get("accesses") or () if entry["kernel"].startswith("gather")]
    if not found:
        return None
    kernels = list(dict.fromkeys(entry["kernel"] for entry in found))
    kinds = list(dict.fromkeys(entry["ids"] for entry in found))
    dims = sorted({entry["dim"] for entry in found})
    loads = {(e["kernel"], e["ids"], e["dim"]): e["counters"]["global_load_sectors"] for e in found}
    sheet, axes = style.figure(
        _sectors_title(loads, kinds, dims[-1]),
        columns=len(kernels),
        height=4.6,
        caption="CPU machine, compiled level. A row of 8 float32 fills a sector of 32 bytes; below that, a row takes a "
        "whole one all the same. The line is the row itself and the 4 bytes of its id. The axis of gather_thread is "
        "another.",
    )
    colours = dict(zip(kinds, (style.BLUE, style.AMBER, style.GREEN), strict=False))
    for axis, kernel in zip(axes, kernels, strict=True):
        width = 0.8 / len(kinds)
        for k, kind in enumerate(kinds):
            places = [place - 0.4 + (k + 0.5) * width for place in range(len(dims))]
            axis.bar(places, [loads[kernel, kind, dim] for dim in dims], 0.92 * width, color=colours[kind])
        least = [(max(1, dim / 8)) + 1 / 8 for dim in dims]
        for place, value in enumerate(least):
            axis.plot([place - 0.42, place + 0.42], [value, value], color=style.INK, linewidth=1.6)
        axis.set_xticks(range(len(dims)), [str(dim) for dim in dims])
        axis.set_title(kernel, loc="left", fontsize=style.TEXT, color=style.INK)
        style.label(axis, "numbers of a row", "sectors loaded an id" if axis is axes[0] else "")
    handles = [Patch(color=colours[kind], label=f"{kind} ids") for kind in kinds]
    axes[1].legend(handles=handles, loc="upper left", frameon=False, fontsize=10.5)
    top = max(axes[k].get_ylim()[1] for k in range(1, len(kernels)))
    for axis in axes[1:]:
        axis.set_ylim(0, top)
    return sheet


def _sectors_title(loads: dict[tuple[str, str, int], float], kinds: Sequence[str], dim: int) -> str:
    kind = "random" if "random" in kinds else kinds[0]
    thread, lane = loads["gather_thread", kind, dim], loads["gather_lane", kind, dim]
    return f"A thread a row loads {thread / lane:.1f} times the sectors of a thread a number, for rows of {dim}"
