"""Numbers and tables of the deck on why GPUs are fast, and when."""

from __future__ import annotations

from typing import Any

from gpukit.slides import Table, gpu, recording
from gpukit.timing import in_units

from . import common

CROSSOVER = "data/results/h200_crossover.json"
SHOWN = ("V100 SXM2 16GB", "T4", "A100 SXM 80GB", "H100 SXM", "H200", "RTX 4090")
LATENCY_CYCLES = 500  # what a load from global memory is taken to need, in the exercise
LINE_BYTES = 128  # what a warp loads in one request, 4 bytes per lane


# --- the sum of two vectors ------------------------------------------------------------------------------------------


def largest(problem: str = "add") -> dict[str, Any]:
    """The row with most elements."""
    return recording(CROSSOVER)[problem][-1]


def elements() -> str:
    return f"{largest()['n']:,}"


def kernel_over_numpy() -> str:
    """How many times faster the kernel alone is than NumPy on one core, at most elements."""
    row = largest()
    return f"{row['numpy_s'] / row['kernel_s']:,.0f}"


def kernel_over_cores() -> str:
    row = largest()
    return f"{row['cores_s'] / row['kernel_s']:,.0f}"


def add_on_the_whole_way() -> Table:
    """Seconds of c = a + b at most elements, for each place where a clock may stand."""
    row = largest()
    ways = (
        ("NumPy, one core", "numpy_s"),
        ("a loop on all 16 cores", "cores_s"),
        ("GPU: the kernel alone", "kernel_s"),
        ("GPU: from host to host, pinned memory", "end_to_end_pinned_s"),
        ("GPU: from host to host, ordinary memory", "end_to_end_pageable_s"),
    )
    rows = [[name, f"{row[key] * 1e3:,.2f} ms", common.times(row["cores_s"] / row[key])] for name, key in ways]
    return Table(["c = a + b", "time", "against 16 cores"], rows, numeric=[1, 2], strong=[2])


def add_by_size() -> Table:
    """Who is first, at a few sizes: microseconds of the loop on all cores, and of CuPy's kernel with the launch."""
    rows = []
    for row in recording(CROSSOVER)["add"]:
        if row["n"] in (1 << 8, 1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 26):
            cpu = min(row["numpy_s"], row["cores_s"])
            times = (in_units(seconds) for seconds in (cpu, row["library_s"]))
            rows.append([f"{row['n']:,}", *times, "CPU" if cpu < row["library_s"] else "GPU"])
    return Table(["elements", "CPU at its best", "GPU, launch and wait", "first"], rows, numeric=[0, 1, 2])


def first_win() -> str:
    """The least measured number of elements from which on the GPU, launch included, is faster than the CPU."""
    return f"{_first_win('add', 'library_s'):,}"


def polynomial_first_win() -> str:
    """The same for the polynomial, with the copies from and to pinned memory."""
    return f"{_first_win('polynomial', 'end_to_end_pinned_s'):,}"


def polynomial_over_cores() -> str:
    row = largest("polynomial")
    return f"{row['cores_s'] / row['end_to_end_pinned_s']:,.0f}"


def _first_win(problem: str, key: str) -> int:
    rows = recording(CROSSOVER)[problem]
    lost = [place for place, row in enumerate(rows) if min(row["numpy_s"], row["cores_s"]) <= row[key]]
    return rows[lost[-1] + 1]["n"]


# --- what is under way -----------------------------------------------------------------------------------------------


def bytes_under_way() -> str:
    """Bytes that must be under way so that an H200's memory has no pause, if a load takes LATENCY_CYCLES."""
    return f"{_bytes_under_way() / 1e6:.1f} MB"


def requests_per_sm() -> str:
    """Requests of 128 bytes that each SM must have under way for that."""
    return f"{_bytes_under_way() / LINE_BYTES / (gpu('H200').sms or 1):.0f}"


def _bytes_under_way() -> float:
    h200 = gpu("H200")
    return (h200.bandwidth_gb_s or 0) * 1e9 * LATENCY_CYCLES / ((h200.boost_mhz or 1) * 1e6)


# --- memory ----------------------------------------------------------------------------------------------------------


def spaces() -> Table:
    """The memory spaces of an H200, from near to far."""
    h200 = gpu("H200")
    l2 = (h200.l2_bytes or 0) >> 20
    whole = recording(CROSSOVER)["machine"]["memory_bytes"] / 2**30
    rows = [
        ["registers", "one thread", "compiler", f"{h200.registers_per_sm * 4 >> 10} KB an SM", "at once"],
        ["local", "one thread", "compiler (spills)", "in global memory", "as global"],
        ["shared", "one block", "you", f"{h200.shared_per_sm_bytes >> 10} KB an SM", "tens of cycles"],
        ["L1", "one SM", "hardware", "rest of shared's room", "tens of cycles"],
        ["constant", "all, read only", "you", "64 KB, cached", "one word a warp: fast"],
        ["texture", "all, read only", "you", "in global, cached", "as L1, if cached"],
        ["L2", "all SMs", "hardware", f"{l2} MB", "a few hundred cycles"],
        ["global", "all, and the host", "you", f"{whole:.0f} GiB", "many hundred cycles"],
    ]
    return Table(["space", "who sees it", "who manages it", "size on an H200", "speed"], rows)


def bandwidths() -> Table:
    """What memory clock and bus give, beside what the data sheet says."""
    rows = []
    for name in SHOWN:
        one = gpu(name)
        rows.append(
            [
                one.name,
                f"{one.memory_mhz:,.0f}",
                f"{one.bus_bits:,}",
                f"{computed(name):,.0f}",
                f"{one.bandwidth_gb_s:,.0f}",
            ]
        )
    header = ["GPU", "memory clock, MHz", "bus, bit", "clock and bus give", "data sheet, GB/s"]
    return Table(header, rows, numeric=[1, 2, 3, 4], strong=[SHOWN.index("H100 SXM")])


def computed(name: str) -> float:
    """GB/s that memory clock and bus of a GPU give: two transfers a clock."""
    one = gpu(name)
    return 2 * (one.memory_mhz or 0) * (one.bus_bits or 0) / 8 / 1000


def h100() -> str:
    return f"{computed('H100 SXM'):,.0f}"


def v100() -> str:
    return f"{computed('V100 SXM2 16GB'):,.0f}"


def sizes() -> Table:
    """How much of what a few GPUs have."""
    rows = []
    for name in SHOWN:
        one = gpu(name)
        sms = one.sms or 0
        rows.append(
            [
                one.name,
                one.architecture,
                sms,
                f"{sms * one.max_threads_per_sm:,}",
                f"{one.shared_per_sm_bytes >> 10} KB",
                f"{(one.l2_bytes or 0) >> 20} MB",
                f"{one.bandwidth_gb_s:,.0f}",
            ]
        )
    header = ["GPU", "family", "SMs", "threads at a time", "shared, at most", "L2", "GB/s"]
    return Table(header, rows, numeric=[2, 3, 4, 5, 6])


# --- copies ----------------------------------------------------------------------------------------------------------


def end_to_end_pageable() -> str:
    """How many times faster than a loop on one core the sum of 64 MiB is from ordinary memory of the host on."""
    return _end_to_end("copy_in_pageable_s")


def end_to_end_pinned() -> str:
    return _end_to_end("copy_in_pinned_s")


def _end_to_end(copy_in: str) -> str:
    ours = recording(CROSSOVER)["sum"]
    return f"{ours['loop_s'] / (ours[copy_in] + ours['kernel_s'] + ours['copy_out_s']):.1f}"


def sum_kernel_over_loop() -> str:
    ours = recording(CROSSOVER)["sum"]
    return f"{ours['loop_s'] / ours['kernel_s']:.0f}"
