"""Numbers of the deck on transfers: all of them recorded on a GPU, for the CPU machine has no bus."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpukit.slides import Measured, Table

ROOT = Path(__file__).parents[2]
BENCH = "data/results/bench_h200_transfer.json"
LAUNCH = "data/results/h200_launch_cost.json"
PUBLISHED = "data/results/published_transfers.json"
MEBI = 1 << 20
SMALL = 1 << 24  # elements of the smallest sum whose launch was timed
NUMBA, CUPY = "coarsened", "cupy_sum"


def recorded(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def rungs() -> Mapping[str, Mapping[str, Any]]:
    """The rungs of the recorded bench by their keys."""
    return {rung["key"]: rung for rung in recorded(BENCH)["rungs"]}


def seconds(key: str) -> float:
    """The median time of a rung."""
    return rungs()[key]["timing"]["median_s"]


def millis(key: str) -> str:
    return f"{1e3 * seconds(key):.2f} ms"


def launch_of(rung: str, n: int) -> Mapping[str, float]:
    """The times of one sum's launch."""
    return next(row for row in recorded(LAUNCH)["rows"] if row["rung"] == rung and row["n"] == n)


# --- in the text ----------------------------------------------------------------------------------------------------


def published_size() -> Measured:
    one = recorded(PUBLISHED)["transfers"][0]
    return Measured(f"{one['bytes'] // MEBI} MiB of {one['dtype']}", PUBLISHED)


def size() -> Measured:
    """Elements of the recorded bench."""
    return Measured(f"{recorded(BENCH)['n'] // MEBI} Mi", BENCH)


def reads_for_a_crossing() -> Measured:
    """How many floats the GPU reads from its own memory in the time in which one crosses the bus."""
    return Measured(recorded(BENCH)["ceilings"]["read"] / rungs()["to_gpu_pinned"]["bandwidth_gb_s"], BENCH)


def three_more_kernels() -> Measured:
    """Milliseconds that four kernels on the GPU take more than one, from host to host."""
    return Measured(1e3 * (seconds("resident") - seconds("end_to_end_pinned")), BENCH)


def kernel_of_a_small_sum() -> Measured:
    return Measured(1e6 * launch_of(NUMBA, SMALL)["held_s"], LAUNCH)


def launch_of_a_small_sum() -> Measured:
    return Measured(1e6 * launch_of(NUMBA, SMALL)["host_s"], LAUNCH)


# --- tables ---------------------------------------------------------------------------------------------------------


def pinning() -> Table:
    """Pageable against pinned memory."""
    ways = {"host to GPU": "to_gpu", "GPU to host": "to_host", "in, kernel, out": "end_to_end"}
    rows = []
    for shown, key in ways.items():
        before, after = f"{key}_pageable", f"{key}_pinned"
        speeds = [f"{rungs()[name]['bandwidth_gb_s']:.0f}" for name in (before, after)]
        faster = f"{seconds(before) / seconds(after):.1f}x"
        rows.append([shown, millis(before), speeds[0], millis(after), speeds[1], faster])
    header = ["", "pageable", "GB/s", "pinned", "GB/s", "faster"]
    return Table(header, rows, sources=[BENCH], numeric=[1, 2, 3, 4, 5])


def overlap() -> Table:
    """One stream, three streams, and the floor."""
    names = {"in, kernel, out in one stream": "end_to_end_pinned", "12 chunks in three streams": "overlapped"}
    rows = [[shown, millis(key), f"{rungs()[key]['bandwidth_gb_s']:.0f}"] for shown, key in names.items()]
    rows.append(["floor: one copy, both directions at once", millis("to_gpu_pinned"), ""])
    return Table(["", "time", "GB/s over the bus"], rows, sources=[BENCH], numeric=[1, 2], strong=[1])


def launches() -> Table:
    """What a launch costs the host, and what the launched sum takes the GPU."""
    sizes = sorted({row["n"] for row in recorded(LAUNCH)["rows"]})
    rows = []
    for n in sizes:
        mine, library = launch_of(NUMBA, n), launch_of(CUPY, n)
        cells = [mine["held_s"], mine["host_s"], library["held_s"], library["host_s"]]
        rows.append([f"{n // MEBI} Mi", *(f"{1e6 * cell:,.0f} us" for cell in cells)])
    header = ["elements", "numba: GPU works", "host launches", "CuPy: GPU works", "host launches"]
    return Table(header, rows, sources=[LAUNCH], numeric=range(5), strong=[0])
