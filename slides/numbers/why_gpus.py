"""Numbers and tables of the deck on why GPUs are fast, and when."""

from __future__ import annotations

import json
from typing import Any

from gpukit.gpus import Gpu, find_gpu
from gpukit.resources import data_file
from gpukit.slides import Measured, Table
from gpukit.timing import in_units

CROSSOVER = "data/results/h200_crossover.json"
EXECUTION = "data/results/bench_h200_execution.json"
SHEET = "data/gpus.toml"
SHOWN = ("V100 SXM2 16GB", "T4", "A100 SXM 80GB", "H100 SXM", "H200", "RTX 4090")
LATENCY_CYCLES = 500  # what a load from global memory is taken to need, in the exercise
LINE_BYTES = 128  # what a warp loads in one request, 4 bytes per lane


# --- the sum of two vectors ------------------------------------------------------------------------------------------


def largest(problem: str = "add") -> dict[str, Any]:
    """The row with most elements."""
    return _read(CROSSOVER)[problem][-1]


def elements() -> Measured:
    return Measured(f"{largest()['n']:,}", CROSSOVER)


def kernel_over_numpy() -> Measured:
    """How many times faster the kernel alone is than NumPy on one core, at most elements."""
    row = largest()
    return Measured(f"{row['numpy_s'] / row['kernel_s']:,.0f}", CROSSOVER)


def kernel_over_cores() -> Measured:
    row = largest()
    return Measured(f"{row['cores_s'] / row['kernel_s']:,.0f}", CROSSOVER)


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
    rows = [[name, f"{row[key] * 1e3:,.2f} ms", _times(row["cores_s"] / row[key])] for name, key in ways]
    return Table(["c = a + b", "time", "against 16 cores"], rows, [CROSSOVER], numeric=[1, 2], strong=[2])


def add_by_size() -> Table:
    """Who is first, at a few sizes: microseconds of the loop on all cores, and of CuPy's kernel with the launch."""
    rows = []
    for row in _read(CROSSOVER)["add"]:
        if row["n"] in (1 << 8, 1 << 12, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 26):
            cpu = min(row["numpy_s"], row["cores_s"])
            times = (in_units(seconds) for seconds in (cpu, row["library_s"]))
            rows.append([f"{row['n']:,}", *times, "CPU" if cpu < row["library_s"] else "GPU"])
    return Table(["elements", "CPU at its best", "GPU, launch and wait", "first"], rows, [CROSSOVER], numeric=[0, 1, 2])


def first_win() -> Measured:
    """The least measured number of elements from which on the GPU, launch included, is faster than the CPU."""
    return Measured(f"{_first_win('add', 'library_s'):,}", CROSSOVER)


def polynomial_first_win() -> Measured:
    """The same for the polynomial, with the copies from and to pinned memory."""
    return Measured(f"{_first_win('polynomial', 'end_to_end_pinned_s'):,}", CROSSOVER)


def polynomial_over_cores() -> Measured:
    row = largest("polynomial")
    return Measured(f"{row['cores_s'] / row['end_to_end_pinned_s']:,.0f}", CROSSOVER)


def _first_win(problem: str, key: str) -> int:
    rows = _read(CROSSOVER)[problem]
    lost = [place for place, row in enumerate(rows) if min(row["numpy_s"], row["cores_s"]) <= row[key]]
    return rows[lost[-1] + 1]["n"]


# --- what is under way -----------------------------------------------------------------------------------------------


def bytes_under_way() -> Measured:
    """Bytes that must be under way so that an H200's memory has no pause, if a load takes LATENCY_CYCLES."""
    return Measured(f"{_bytes_under_way() / 1e6:.1f} MB", SHEET)


def requests_per_sm() -> Measured:
    """Requests of 128 bytes that each SM must have under way for that."""
    return Measured(f"{_bytes_under_way() / LINE_BYTES / (find_gpu('H200').sms or 1):.0f}", SHEET)


def _bytes_under_way() -> float:
    gpu = find_gpu("H200")
    return (gpu.bandwidth_gb_s or 0) * 1e9 * LATENCY_CYCLES / ((gpu.boost_mhz or 1) * 1e6)


# --- memory ----------------------------------------------------------------------------------------------------------


def spaces() -> Table:
    """The memory spaces of an H200, from near to far."""
    gpu = find_gpu("H200")
    l2 = (gpu.l2_bytes or 0) >> 20
    whole = _read(CROSSOVER)["machine"]["memory_bytes"] / 2**30
    rows = [
        ["registers", "one thread", "compiler", f"{gpu.registers_per_sm * 4 >> 10} KB an SM", "at once"],
        ["local", "one thread", "compiler (spills)", "in global memory", "as global"],
        ["shared", "one block", "you", f"{gpu.shared_per_sm_bytes >> 10} KB an SM", "tens of cycles"],
        ["L1", "one SM", "hardware", "rest of shared's room", "tens of cycles"],
        ["constant", "all, read only", "you", "64 KB, cached", "one word a warp: fast"],
        ["texture", "all, read only", "you", "in global, cached", "as L1, if cached"],
        ["L2", "all SMs", "hardware", f"{l2} MB", "a few hundred cycles"],
        ["global", "all, and the host", "you", f"{whole:.0f} GiB", "many hundred cycles"],
    ]
    return Table(["space", "who sees it", "who manages it", "size on an H200", "speed"], rows, [SHEET, CROSSOVER])


def bandwidths() -> Table:
    """What memory clock and bus give, beside what the data sheet says."""
    rows = []
    for name in SHOWN:
        gpu = find_gpu(name)
        rows.append(
            [
                gpu.name,
                f"{gpu.memory_mhz:,.0f}",
                f"{gpu.bus_bits:,}",
                f"{computed(gpu):,.0f}",
                f"{gpu.bandwidth_gb_s:,.0f}",
            ]
        )
    header = ["GPU", "memory clock, MHz", "bus, bit", "2 x clock x bus / 8", "data sheet, GB/s"]
    return Table(header, rows, [SHEET], numeric=[1, 2, 3, 4], strong=[SHOWN.index("H100 SXM")])


def computed(gpu: Gpu) -> float:
    """GB/s that memory clock and bus give: two transfers a clock."""
    return 2 * (gpu.memory_mhz or 0) * (gpu.bus_bits or 0) / 8 / 1000


def h100() -> Measured:
    return Measured(f"{computed(find_gpu('H100 SXM')):,.0f}", SHEET)


def v100() -> Measured:
    return Measured(f"{computed(find_gpu('V100 SXM2 16GB')):,.0f}", SHEET)


def sizes() -> Table:
    """How much of what a few GPUs have."""
    rows = []
    for name in SHOWN:
        gpu = find_gpu(name)
        sms = gpu.sms or 0
        rows.append(
            [
                gpu.name,
                gpu.architecture,
                sms,
                f"{sms * gpu.max_threads_per_sm:,}",
                f"{gpu.shared_per_sm_bytes >> 10} KB",
                f"{(gpu.l2_bytes or 0) >> 20} MB",
                f"{gpu.bandwidth_gb_s:,.0f}",
            ]
        )
    header = ["GPU", "family", "SMs", "threads at a time", "shared / L1 an SM", "L2", "GB/s"]
    return Table(header, rows, [SHEET], numeric=[2, 3, 4, 5, 6])


# --- copies ----------------------------------------------------------------------------------------------------------


def end_to_end_pageable() -> Measured:
    """How many times faster than a loop on one core the sum of 64 MiB is from ordinary memory of the host on."""
    return _end_to_end("copy_in_pageable_s")


def end_to_end_pinned() -> Measured:
    return _end_to_end("copy_in_pinned_s")


def _end_to_end(copy_in: str) -> Measured:
    ours = _read(CROSSOVER)["sum"]
    return Measured(f"{ours['loop_s'] / (ours[copy_in] + ours['kernel_s'] + ours['copy_out_s']):.1f}", CROSSOVER)


def sum_kernel_over_loop() -> Measured:
    ours = _read(CROSSOVER)["sum"]
    return Measured(f"{ours['loop_s'] / ours['kernel_s']:.0f}", CROSSOVER)


def _times(factor: float) -> str:
    return f"{factor:,.0f}x" if factor >= 10 else f"{factor:.1f}x"


def _read(path: str) -> Any:
    return json.loads(data_file(path.removeprefix("data/")).read_text(encoding="utf-8"))
