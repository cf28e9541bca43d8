"""Numbers of the deck on measuring: what a time hides, ladders that others published, costs of the last 64 values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import gpukit
from gpukit import devices
from gpukit.kernels import reduction
from gpukit.slides import Measured, Table
from gpukit.timing import in_units

BENCH = "data/results/bench_h200_reduction.json"
LAUNCHES = "data/results/h200_launch_cost.json"
ATOMICS = "data/results/h200_block_atomics.json"
PUBLISHED = "data/results/published_reductions.json"
_ROOT = Path(__file__).parents[2]


def _read(path: str) -> Mapping[str, Any]:
    return json.loads((_ROOT / path).read_text(encoding="utf-8"))


def _rungs() -> Mapping[str, Mapping[str, Any]]:
    return {rung["key"]: rung for rung in _read(BENCH)["rungs"]}


def _ladder(gpu: str, n: int) -> Mapping[str, Any]:
    return next(one for one in _read(PUBLISHED)["ladders"] if (one["gpu"], one["n"]) == (gpu, n))


# --- what a time hides -----------------------------------------------------------------------------------------------


def _launch(key: str) -> float:
    rows = _read(LAUNCHES)["rows"]
    return next(row[key] for row in rows if (row["rung"], row["n"]) == ("grid_stride", 1 << 29))


def held_bandwidth() -> Measured:
    return Measured(f"{_launch('held_gb_s'):,.0f}", LAUNCHES)


def free_bandwidth() -> Measured:
    return Measured(f"{_launch('free_gb_s'):,.0f}", LAUNCHES)


def host_time() -> Measured:
    """What a launch of `grid_stride` keeps the host."""
    return Measured(in_units(_launch("host_s")), LAUNCHES)


def repeats() -> Measured:
    return Measured(_rungs()["grid_stride"]["timing"]["n"], BENCH)


def spread() -> Measured:
    return Measured(f"{_rungs()['grid_stride']['timing']['spread']:.2%}", BENCH)


# --- checks ----------------------------------------------------------------------------------------------------------


def cases() -> Measured:
    """Cases that a rung of numba is checked with before it is timed."""
    return Measured(_rungs()["grid_stride"]["check"]["cases"], BENCH)


def bound() -> str:
    """The relative error that a float32 sum of 2^26 elements may have."""
    return f"{reduction.relative_bound(1 << 26, devices.device('cpu')):.1e}"


def lost() -> str:
    """What one element of 2^26 is of the sum."""
    return f"{2.0**-26:.1e}"


# --- ladders side by side --------------------------------------------------------------------------------------------


def published_t4() -> Table:
    """T4, 2^24 int32, in milliseconds; and our times of 2 GiB."""
    ladder, rungs = _ladder("T4", 1 << 24), _rungs()
    rows = []
    theirs, ours = ladder["values"]["cpu_loop"], rungs["cpu_loop"]["timing"]["median_s"]
    for key, value in ladder["values"].items():
        name = ladder["published_names"].get(key, key)
        seconds = rungs[key]["timing"]["median_s"]
        shown = f"{value:.2f}" if value > 10 else f"{value:.3f}"
        rows.append([name, shown, _times(theirs / value), key, in_units(seconds), _times(ours / seconds)])
    header = ["T4, 2^24 int32", "ms", "", "H200, 2^29 float32", "time", ""]
    return Table(header, rows, [BENCH], numeric=[1, 2, 4, 5])


def _times(factor: float) -> str:
    return f"{factor:,.1f}x" if factor < 10 else f"{factor:,.0f}x"


def _share(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")


def published_t4_float() -> Table:
    """T4, 2^26 float32, CUDA 12.6, in GB/s and of a copy; and ours."""
    ladder, record, rungs = _ladder("T4", 1 << 26), _read(BENCH), _rungs()
    copy = ladder["copy_gb_s"]
    rows: list[list[str]] = [["copy", f"{copy}", "100 %", f"{record['ceilings']['copy']:,.0f}", "100 %"]]
    for key, value in ladder["values"].items():
        shown, name = rungs[key], ladder["published_names"].get(key, key)
        same = "on top of" not in name  # of a fixed grid, which our rung of that name does not have
        rows.append(
            [
                name.partition(" (")[0],
                f"{value}",
                _share(value / copy),
                f"{shown['bandwidth_gb_s']:,.0f}" if same else "-",
                _share(shown["fraction_of_copy"]) if same else "-",
            ]
        )
    header = ["2^26 float32", "T4, GB/s", "of copy", "H200, GB/s", "of copy"]
    return Table(header, rows, [BENCH], numeric=[1, 2, 3, 4])


# --- what is compared ------------------------------------------------------------------------------------------------


def block_atomics() -> Table:
    """One atomic a block on one address, against a stored partial sum: 2^20 float32, blocks of 32 threads."""
    rows = []
    for row in _read(ATOMICS)["rows"]:
        if (row["n"], row["dtype"]) == (1 << 20, "float32") and row["blocks"] in (160, 1024, 4096, 32768):
            times = [row[key]["median_s"] for key in ("grid_stride", "finish_atomic", "every_thread")]
            rows.append([f"{row['blocks']:,}", *(in_units(time) for time in times)])
    header = ["blocks", "partial sums", "one atomic a block", "one a thread"]
    return Table(header, rows, [ATOMICS], numeric=[0, 1, 2, 3], strong=[0, len(rows) - 1])


def atomics_of_full_blocks() -> Measured:
    """What 32,768 atomics add to the time of 2^24 int32 in blocks of 256 threads."""
    row = next(
        row for row in _read(ATOMICS)["rows"] if (row["n"], row["dtype"], row["blocks"]) == (1 << 24, "int32", 32768)
    )
    difference = row["finish_atomic"]["median_s"] - row["grid_stride"]["median_s"]
    return Measured(f"{difference / row['grid_stride']['median_s']:.1%}", ATOMICS)


def produces() -> Table:
    """Rows that may be compared, and rows that may not."""
    rungs = _rungs()
    keys = ("grid_stride", "coarsened", "finish_second_launch", "finish_atomic", "cupy_sum", "torch_sum")
    rows = [[key, rungs[key]["produces"], in_units(rungs[key]["timing"]["median_s"])] for key in keys]
    return Table(["rung", "produces", "time"], rows, [BENCH], numeric=[2])


def last_64_values() -> Table:
    """What the last 64 values cost lane 0, counted in a block of 64 threads, each of which has one value then."""
    rows = []
    for name, kernel in (
        ("tree with barriers", reduction.first_add),
        ("syncwarp", reduction.last_warp_syncwarp),
        ("shuffle", reduction.last_warp_shuffle),
    ):
        args = (np.ones(128, np.float32), np.zeros(1, np.float32))
        counters = gpukit.profile(kernel, 1, 64, *args, shared_bytes=256).counters
        trace = gpukit.trace(kernel, 1, 64, *args, shared_bytes=256).to_dict()
        reads, writes = (_of_lane_0(trace, kind) for kind in ("load", "store"))
        # One barrier stands before the last 64 values: after the load.
        waits = [counters["barriers"] - 1, counters["warp_synchronisations"]]
        exchanges = waits.pop() if kernel is reduction.last_warp_shuffle else 0
        syncwarps = waits.pop() if len(waits) == 2 else 0
        rows.append([name, reads, writes, waits[0], syncwarps, exchanges])
    return Table(
        ["the last 64 values", "reads", "writes", "barriers", "syncwarps", "exchanges"], rows, numeric=range(1, 6)
    )


def _of_lane_0(trace: Mapping[str, Any], kind: str) -> int:
    """Lane 0's accesses to shared memory in the tree: neither the store before it nor the read after it."""
    texts = [line["text"] for line in trace["lines"]]
    return sum(
        request["space"] == "shared"
        and request["kind"] == kind
        and request["warp"] == 0
        and request["mask"] & 1 == 1
        and "two_of" not in texts[request["line"]]
        and "partial[" not in texts[request["line"]]
        for request in trace["requests"]
    )
