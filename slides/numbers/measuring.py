"""Numbers of the deck on measuring: what a time hides, ladders that others published, costs of the last 64 values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import gpukit
from gpukit import devices
from gpukit.kernels import reduction
from gpukit.slides import Table, recording
from gpukit.timing import in_units

from . import common

ATOMICS = "data/results/h200_block_atomics.json"


# --- what a time hides -----------------------------------------------------------------------------------------------


def _launch(key: str) -> float:
    rows = recording("data/results/h200_launch_cost.json")["rows"]
    return next(row[key] for row in rows if (row["rung"], row["n"]) == ("grid_stride", 1 << 29))


def held_bandwidth() -> str:
    return f"{_launch('held_gb_s'):,.0f}"


def free_bandwidth() -> str:
    return f"{_launch('free_gb_s'):,.0f}"


def host_time() -> str:
    """What a launch of `grid_stride` keeps the host."""
    return in_units(_launch("host_s"))


def repeats() -> int:
    return common.rung("reduction", "grid_stride")["timing"]["n"]


def spread() -> str:
    return f"{common.rung('reduction', 'grid_stride')['timing']['spread']:.2%}"


# --- checks ----------------------------------------------------------------------------------------------------------


def cases() -> int:
    """Cases that a rung of numba is checked with before it is timed."""
    return common.rung("reduction", "grid_stride")["check"]["cases"]


def bound() -> str:
    """The relative error that a float32 sum of 2^26 elements may have."""
    return f"{reduction.relative_bound(1 << 26, devices.device('cpu')):.1e}"


def lost() -> str:
    """What one element of 2^26 is of the sum."""
    return f"{2.0**-26:.1e}"


# --- ladders side by side --------------------------------------------------------------------------------------------


def _ladder(n: int) -> Mapping[str, Any]:
    """The ladder of n elements that others published for a T4."""
    return recording("data/results/published_reductions.json", f"ladders[n={n}]")


def published_t4() -> Table:
    """T4, 2^24 int32, in milliseconds; and our times of 2 GiB."""
    ladder, rungs = _ladder(1 << 24), common.rungs("reduction")
    rows = []
    theirs, ours = ladder["values"]["cpu_loop"], rungs["cpu_loop"]["timing"]["median_s"]
    for key, value in ladder["values"].items():
        name = ladder["published_names"].get(key, key)
        seconds = rungs[key]["timing"]["median_s"]
        shown = f"{value:.2f}" if value > 10 else f"{value:.3f}"
        rows.append([name, shown, common.times(theirs / value), key, in_units(seconds), common.times(ours / seconds)])
    header = ["T4, 2^24 int32", "ms", "", "H200, 2^29 float32", "time", ""]
    return Table(header, rows, numeric=[1, 2, 4, 5])


def published_t4_float() -> Table:
    """T4, 2^26 float32, CUDA 12.6, in GB/s and of a copy; and ours."""
    ladder, rungs = _ladder(1 << 26), common.rungs("reduction")
    copy = ladder["copy_gb_s"]
    our_copy = common.bench("reduction")["ceilings"]["copy"]
    rows: list[list[str]] = [["copy", f"{copy}", "100 %", f"{our_copy:,.0f}", "100 %"]]
    for key, value in ladder["values"].items():
        shown, name = rungs[key], ladder["published_names"].get(key, key)
        same = "on top of" not in name  # of a fixed grid, which our rung of that name does not have
        rows.append(
            [
                name.partition(" (")[0],
                f"{value}",
                common.percent(value / copy),
                f"{shown['bandwidth_gb_s']:,.0f}" if same else "-",
                common.percent(shown["fraction_of_copy"]) if same else "-",
            ]
        )
    header = ["2^26 float32", "T4, GB/s", "of copy", "H200, GB/s", "of copy"]
    return Table(header, rows, numeric=[1, 2, 3, 4])


# --- what is compared ------------------------------------------------------------------------------------------------


def block_atomics() -> Table:
    """One atomic a block on one address, against a stored partial sum: 2^20 float32, blocks of 32 threads."""
    rows = []
    for row in recording(ATOMICS)["rows"]:
        if (row["n"], row["dtype"]) == (1 << 20, "float32") and row["blocks"] in (160, 1024, 4096, 32768):
            times = [row[key]["median_s"] for key in ("grid_stride", "finish_atomic", "every_thread")]
            rows.append([f"{row['blocks']:,}", *(in_units(time) for time in times)])
    header = ["blocks", "partial sums", "one atomic a block", "one a thread"]
    return Table(header, rows, numeric=[0, 1, 2, 3], strong=[0, len(rows) - 1])


def atomics_of_full_blocks() -> str:
    """What 32,768 atomics add to the time of 2^24 int32 in blocks of 256 threads."""
    row = next(
        row
        for row in recording(ATOMICS)["rows"]
        if (row["n"], row["dtype"], row["blocks"]) == (1 << 24, "int32", 32768)
    )
    difference = row["finish_atomic"]["median_s"] - row["grid_stride"]["median_s"]
    return f"{difference / row['grid_stride']['median_s']:.1%}"


def produces() -> Table:
    """Rows that may be compared, and rows that may not."""
    rungs = common.rungs("reduction")
    keys = ("grid_stride", "coarsened", "finish_second_launch", "finish_atomic", "cupy_sum", "torch_sum")
    rows = [[key, rungs[key]["produces"], in_units(rungs[key]["timing"]["median_s"])] for key in keys]
    return Table(["rung", "produces", "time"], rows, numeric=[2])


def last_64_values() -> Table:
    """What the last 64 values cost lane 0, counted in a block of 64 threads, each of which has one value then.

    Beside it the recorded time of a whole sum that ends so.
    """
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
        time = in_units(common.seconds("reduction", kernel.__name__))
        rows.append([name, reads, writes, waits[0], syncwarps, exchanges, time])
    header = ["", "reads", "writes", "barriers", "syncwarps", "exchanges", "time"]
    return Table(header, rows, numeric=range(1, 7))


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
