"""Numbers and tables of the deck on APOD and the roofline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gpukit import roofline
from gpukit.slides import Table, gpu

from . import common

# --- Amdahl ----------------------------------------------------------------------------------------------------------


def amdahl() -> Table:
    """The speed-up of the whole, for parts of 50, 90 and 99 % made 10, 40 and infinitely many times faster."""
    rows = [
        [common.percent(share), *(f"{roofline.amdahl(share, s):.2f}x" for s in roofline.SPEEDUPS)]
        for share in roofline.PARALLEL
    ]
    header = ["parallel", *("infinite" if math.isinf(s) else f"s = {s:g}" for s in roofline.SPEEDUPS)]
    return Table(header, rows, numeric=[1, 2, 3])


# --- the sum of 2 GiB ------------------------------------------------------------------------------------------------


def intensity() -> str:
    """FLOP per byte of the recorded sum: n additions, and what it reads and writes."""
    rung = _sum("shuffle")
    return f"{roofline.intensity(rung['flops'], rung['bytes_moved']):.2f}"


def floor() -> str:
    """The speed of light of the recorded sum, by the data sheet."""
    n = common.bench("reduction")["n"]
    return f"{roofline.floor_seconds(4 * n, n, gpu('H200')) * 1e6:,.0f} us"


def additions_alone() -> str:
    """What the additions alone would take at the peak."""
    n = common.bench("reduction")["n"]
    return f"{roofline.floor_seconds(0, n, gpu('H200')) * 1e6:,.0f} us"


def of_the_floor() -> str:
    """How much of the speed of light the rung `shuffle` reaches."""
    n, rung = common.bench("reduction")["n"], _sum("shuffle")
    found = roofline.fraction(rung["timing"]["median_s"], 4 * n, n, gpu("H200"))
    return common.percent(found.of_peak)


def over_the_loop() -> str:
    """How many times the loop of one CPU core the rung `shuffle` is."""
    loop, shuffle = (_sum(key)["timing"]["median_s"] for key in ("cpu_loop", "shuffle"))
    return f"{loop / shuffle:,.0f}"


def ridge() -> str:
    return f"{roofline.ridge(gpu('H200')):.1f}"


def product_intensity() -> str:
    """FLOP per byte of a matrix product that reads and writes each matrix once."""
    rung = common.rung("matmul", "library")
    return f"{roofline.intensity(rung['flops'], rung['bytes_moved']):,.0f}"


def ceilings() -> Table:
    """The same sum against three ceilings."""
    measured = common.bench("reduction")["ceilings"]
    best = _sum("coarsened")["bandwidth_gb_s"]
    shuffle = _sum("shuffle")["bandwidth_gb_s"]
    sheet = gpu("H200").bandwidth_gb_s
    assert sheet is not None
    ceilings = (
        ("data sheet", sheet),
        ("a kernel that reads", measured["read"]),
        ("a copy", measured["copy"]),
    )
    rows = [
        [name, f"{speed:,.0f} GB/s", common.percent(shuffle / speed), common.percent(best / speed)]
        for name, speed in ceilings
    ]
    return Table(["ceiling", "GB/s", "shuffle", "coarsened"], rows, numeric=[1, 2, 3], strong=[2])


def log() -> Table:
    """Rounds of the recorded log, as `gpukit bench` writes it."""
    about = {
        "compact": ("adjacent threads", "fewer splits"),
        "sequential": ("stride halves", "fewer sectors"),
        "shared_interleaved": ("shared memory", "fewer requests"),
        "first_add": ("two loads a thread", "fewer barriers"),
        "shuffle": ("sums by shuffles", "fewer barriers"),
        "grid_stride": ("a fixed grid", "fold paid once"),
        "coarsened": ("eight loads at once", "fewer waits"),
    }
    rows = []
    for key, (change, hypothesis) in about.items():
        entry = _sum(key)["log"]
        speed_up = f"{entry['speed_up']:.2f}x"
        rows.append([key, change, hypothesis, _time(entry["time"]), speed_up, f"{entry['bandwidth']:,.0f}"])
        rows[-1].append(entry["decision"])
    header = ["version", "change", "hypothesis", "time", "speed\u2011up", "GB/s", ""]
    reverted = [place for place, row in enumerate(rows) if row[-1] == "revert"]
    return Table(header, rows, numeric=[3, 4, 5], strong=reverted)


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.2f}\u00a0ms" if seconds >= 1e-3 else f"{seconds * 1e6:,.0f}\u00a0us"


def _sum(key: str) -> Mapping[str, Any]:
    """A rung of the recorded sums."""
    return common.rung("reduction", key)
