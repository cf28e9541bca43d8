"""Numbers of the deck on transfers: all of them recorded on a GPU, for the CPU machine has no bus."""

from __future__ import annotations

from collections.abc import Mapping

from gpukit.slides import Table, recording

from . import common

LAUNCH = "data/results/h200_launch_cost.json"
MEBI = 1 << 20
SMALL = 1 << 24  # elements of the smallest sum whose launch was timed
NUMBA, CUPY = "coarsened", "cupy_sum"


def seconds(key: str) -> float:
    """The median time of a rung."""
    return common.seconds("transfer", key)


def millis(key: str) -> str:
    return common.millis(seconds(key))


def speed(key: str) -> str:
    """GB/s of a rung."""
    return f"{common.rung('transfer', key)['bandwidth_gb_s']:.0f}"


def launch_of(rung: str, n: int) -> Mapping[str, float]:
    """The times of one sum's launch."""
    return next(row for row in recording(LAUNCH)["rows"] if row["rung"] == rung and row["n"] == n)


# --- in the text ----------------------------------------------------------------------------------------------------


def published_size() -> str:
    one = recording("data/results/published_transfers.json")["transfers"][0]
    return f"{one['bytes'] // MEBI} MiB of {one['dtype']}"


def size() -> str:
    """Elements of the recorded bench."""
    return f"{common.bench('transfer')['n'] // MEBI} Mi"


def reads_for_a_crossing() -> float:
    """How many floats the GPU reads from its own memory in the time in which one crosses the bus."""
    read = common.bench("transfer")["ceilings"]["read"]
    return read / common.rung("transfer", "to_gpu_pinned")["bandwidth_gb_s"]


def three_more_kernels() -> float:
    """Milliseconds that four kernels on the GPU take more than one, from host to host."""
    return 1e3 * (seconds("resident") - seconds("end_to_end_pinned"))


def kernel_of_a_small_sum() -> float:
    return 1e6 * launch_of(NUMBA, SMALL)["held_s"]


def launch_of_a_small_sum() -> float:
    return 1e6 * launch_of(NUMBA, SMALL)["host_s"]


# --- tables ---------------------------------------------------------------------------------------------------------


def pinning() -> Table:
    """Pageable against pinned memory."""
    ways = {"host to GPU": "to_gpu", "GPU to host": "to_host", "in, kernel, out": "end_to_end"}
    rows = []
    for shown, key in ways.items():
        before, after = f"{key}_pageable", f"{key}_pinned"
        faster = common.times(seconds(before) / seconds(after))
        rows.append([shown, millis(before), speed(before), millis(after), speed(after), faster])
    header = ["", "pageable", "GB/s", "pinned", "GB/s", "faster"]
    return Table(header, rows, numeric=[1, 2, 3, 4, 5])


def overlap() -> Table:
    """One stream, three streams, and the floor."""
    names = {"in, kernel, out in one stream": "end_to_end_pinned", "12 chunks in three streams": "overlapped"}
    rows = [[shown, millis(key), speed(key)] for shown, key in names.items()]
    rows.append(["floor: one copy, both directions at once", millis("to_gpu_pinned"), ""])
    return Table(["", "time", "GB/s over the bus"], rows, numeric=[1, 2], strong=[1])


def launches() -> Table:
    """What a launch costs the host, and what the launched sum takes the GPU."""
    sizes = sorted({row["n"] for row in recording(LAUNCH)["rows"]})
    rows = []
    for n in sizes:
        mine, library = launch_of(NUMBA, n), launch_of(CUPY, n)
        cells = [mine["held_s"], mine["host_s"], library["held_s"], library["host_s"]]
        rows.append([f"{n // MEBI} Mi", *(f"{1e6 * cell:,.0f} us" for cell in cells)])
    header = ["elements", "numba: GPU works", "host launches", "CuPy: GPU works", "host launches"]
    return Table(header, rows, numeric=range(5), strong=[0])
