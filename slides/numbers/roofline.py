"""Numbers and tables of the deck on APOD and the roofline."""

from __future__ import annotations

import json
import math
from typing import Any

from gpukit import gpus, roofline
from gpukit.resources import data_file
from gpukit.slides import Measured, Table

SUMS = "data/results/bench_h200_reduction.json"
PRODUCTS = "data/results/bench_h200_matmul.json"
SHEET = "data/gpus.toml"


# --- Amdahl ----------------------------------------------------------------------------------------------------------


def amdahl() -> Table:
    """The speed-up of the whole, for parts of 50, 90 and 99 % made 10, 40 and infinitely many times faster."""
    rows = [
        [f"{share:.0%}".replace("%", " %"), *(f"{roofline.amdahl(share, s):.2f}x" for s in roofline.SPEEDUPS)]
        for share in roofline.PARALLEL
    ]
    header = ["parallel", *("infinite" if math.isinf(s) else f"s = {s:g}" for s in roofline.SPEEDUPS)]
    return Table(header, rows, numeric=[1, 2, 3])


# --- the sum of 2 GiB ------------------------------------------------------------------------------------------------


def intensity() -> Measured:
    """FLOP per byte of the recorded sum: n additions, and what it reads and writes."""
    rung = _rung(SUMS, "shuffle")
    return Measured(f"{roofline.intensity(rung['flops'], rung['bytes_moved']):.2f}", SUMS)


def floor() -> Measured:
    """The speed of light of the recorded sum, by the data sheet."""
    n = _result(SUMS)["n"]
    return Measured(f"{roofline.floor_seconds(4 * n, n, 'H200') * 1e6:,.0f} us", SUMS, SHEET)


def additions_alone() -> Measured:
    """What the additions alone would take at the peak."""
    n = _result(SUMS)["n"]
    return Measured(f"{roofline.floor_seconds(0, n, 'H200') * 1e6:,.0f} us", SUMS, SHEET)


def of_the_floor() -> Measured:
    """How much of the speed of light the rung `shuffle` reaches."""
    result, rung = _result(SUMS), _rung(SUMS, "shuffle")
    found = roofline.fraction(rung["timing"]["median_s"], 4 * result["n"], result["n"], "H200")
    return Measured(f"{found.of_peak:.0%}".replace("%", " %"), SUMS, SHEET)


def over_the_loop() -> Measured:
    """How many times the loop of one CPU core the rung `shuffle` is."""
    loop, shuffle = (_rung(SUMS, key)["timing"]["median_s"] for key in ("cpu_loop", "shuffle"))
    return Measured(f"{loop / shuffle:,.0f}", SUMS)


def ridge() -> Measured:
    return Measured(f"{roofline.ridge('H200'):.1f}", SHEET)


def product_intensity() -> Measured:
    """FLOP per byte of a matrix product that reads and writes each matrix once."""
    rung = _rung(PRODUCTS, "library")
    return Measured(f"{roofline.intensity(rung['flops'], rung['bytes_moved']):,.0f}", PRODUCTS)


def ceilings() -> Table:
    """The same sum against three ceilings."""
    result = _result(SUMS)
    best = _rung(SUMS, "coarsened")["bandwidth_gb_s"]
    shuffle = _rung(SUMS, "shuffle")["bandwidth_gb_s"]
    sheet = gpus.find_gpu("H200").bandwidth_gb_s
    assert sheet is not None
    ceilings = (
        ("data sheet", sheet),
        ("a kernel that reads", result["ceilings"]["read"]),
        ("a copy", result["ceilings"]["copy"]),
    )
    rows = [[name, f"{speed:,.0f} GB/s", f"{shuffle / speed:.0%}", f"{best / speed:.0%}"] for name, speed in ceilings]
    return Table(["ceiling", "GB/s", "shuffle", "coarsened"], rows, [SUMS, SHEET], numeric=[1, 2, 3], strong=[2])


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
        entry = _rung(SUMS, key)["log"]
        speed_up = f"{entry['speed_up']:.2f}x"
        rows.append([key, change, hypothesis, _time(entry["time"]), speed_up, f"{entry['bandwidth']:,.0f}"])
        rows[-1].append(entry["decision"])
    header = ["version", "change", "hypothesis", "time", "speed\u2011up", "GB/s", ""]
    reverted = [place for place, row in enumerate(rows) if row[-1] == "revert"]
    return Table(header, rows, [SUMS], numeric=[3, 4, 5], strong=reverted)


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.2f}\u00a0ms" if seconds >= 1e-3 else f"{seconds * 1e6:,.0f}\u00a0us"


def _result(path: str) -> dict[str, Any]:
    return json.loads(data_file(path.removeprefix("data/")).read_text(encoding="utf-8"))


def _rung(path: str, key: str) -> dict[str, Any]:
    return next(rung for rung in _result(path)["rungs"] if rung["key"] == key)
