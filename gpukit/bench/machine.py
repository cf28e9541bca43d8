"""`gpukit bench machine`: the CPU machine against numba's CUDA simulator, on the same kernels in the same run.

The simulator runs in a process of its own, because NUMBA_ENABLE_CUDASIM must be set before numba is imported.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

import gpukit
from gpukit import cuda
from gpukit.bench import compiled
from gpukit.errors import GpukitError
from gpukit.kernels import reduction, spmv
from gpukit.provenance import provenance

if TYPE_CHECKING:
    from rich.console import Console

THREADS = 256
REPEATS = 11
FULL, QUICK = 1 << 16, 1 << 12  # elements of the comparison; the simulator needs about a minute for the first
LARGE = 1 << 20
LOOP = 1 << 16
SIMULATOR_TIMEOUT = 1800.0  # seconds
MIB = 1 << 20


@cuda.jit
def one_thread_loop(x, y):
    """A load and an add, over and over, by one thread."""
    total = 0
    for i in range(x.size):
        total += x[i]
    y[0] = total


# --- inputs --------------------------------------------------------------------------------------------------------


def reduction_arguments(elements: int) -> tuple[int, tuple[np.ndarray, np.ndarray]]:
    """Grid and arguments of an in-place sum of `elements` ones."""
    blocks = elements // (2 * THREADS)
    return blocks, (np.ones(elements, np.int32), np.zeros(blocks, np.int32))


def _one_long_row() -> tuple[int, tuple[np.ndarray, ...]]:
    """Grid and arguments of a CSR product: 20,000 rows of 3 non-zeros, but one of 2,000."""
    rows = 20_000
    lengths = np.full(rows, 3)
    lengths[rows // 2] = 2_000
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    rng = np.random.default_rng(0)
    indices = rng.integers(0, rows, indptr[-1]).astype(np.int32)
    data, x = rng.random(indices.size, dtype=np.float32), rng.random(rows, dtype=np.float32)
    return -(-rows // THREADS), (indptr, indices, data, x, np.zeros(rows, np.float32))


# --- measuring -----------------------------------------------------------------------------------------------------


def _time(kernel: Any, make: Callable[[], tuple], hazards: bool, threads: int = THREADS) -> dict[str, float]:
    """Seconds of a profiled launch: the first one (which translates the kernel too if nobody did) and the median."""
    seconds = []
    for _ in range(1 + REPEATS):
        grid, arguments = make()
        began = time.perf_counter()
        gpukit.profile(kernel, grid, threads, *arguments, hazards=hazards)
        seconds.append(time.perf_counter() - began)
    return {"first_s": seconds[0], "median_s": median(seconds[1:]), "worst_s": max(seconds[1:])}


def _peak_bytes(kernel: Any, make: Callable[[], tuple], hazards: bool) -> int:
    """Most memory allocated at a time during a launch, arguments not counted (NumPy reports to tracemalloc)."""
    grid, arguments = make()
    tracemalloc.start()
    try:
        gpukit.profile(kernel, grid, THREADS, *arguments, hazards=hazards)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


_IN_SIMULATOR = """
import json, sys, time, types
import numpy as np
from numba import cuda
from gpukit.bench import machine
from gpukit.kernels import reduction

elements = int(sys.argv[1])
function = reduction.naive.py_func
kernel = cuda.jit(types.FunctionType(function.__code__, {**function.__globals__, "cuda": cuda}))
grid, arguments = machine.reduction_arguments(elements)
began = time.perf_counter()
kernel[grid, machine.THREADS](*arguments)
seconds = time.perf_counter() - began
json.dump({"seconds": seconds, "sum": int(arguments[1].sum())}, sys.stdout)
"""


def _simulator_seconds(elements: int) -> float:
    """Seconds that numba's simulator needs for the naive in-place sum of `elements` ones."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    # The child must find the same gpukit, also when it is not installed.
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(Path(gpukit.__file__).parents[1]), environment.get("PYTHONPATH", "")]
    )
    command = [sys.executable, "-c", _IN_SIMULATOR, str(elements)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SIMULATOR_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise GpukitError(f"numba's simulator did not end within {SIMULATOR_TIMEOUT:.0f} s; try --quick") from None
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise GpukitError(f"numba's simulator failed: {last[0]}")
    answer = json.loads(done.stdout)
    if answer["sum"] != elements:
        raise GpukitError(f"numba's simulator summed {elements} ones to {answer['sum']}; nothing to compare with")
    return float(answer["seconds"])


def measure(quick: bool = False, say: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """All measurements as plain data. `say` is told what is being measured.

    Seconds are wall-clock; `median_s` is over the launches after a first one. `ratio` is the simulator's seconds over
    ours for the same kernel, size and launch. Without numba-cuda that part is left out and `missing` says why.
    """
    elements = QUICK if quick else FULL
    result: dict[str, Any] = {"machine": provenance("gpukit bench machine" + (" --quick" if quick else ""))}

    say(f"in-place sum of {elements:,} elements on the CPU machine")
    comparison: dict[str, Any] = {"kernel": "reduction.naive", "elements": elements, "threads_per_block": THREADS}
    for key, hazards in (("counters", False), ("hazards", True)):
        comparison[key] = _time(reduction.naive, partial(reduction_arguments, elements), hazards)
    if importlib.util.find_spec("numba_cuda") is None:
        comparison["missing"] = 'numba\'s simulator comes with numba-cuda: python -m pip install -e ".[compiled]"'
    else:
        say("the same in numba's simulator" + ("" if quick else " (one to three minutes)"))
        comparison["simulator_s"] = _simulator_seconds(elements)
        for key in ("counters", "hazards"):
            comparison[key]["ratio"] = comparison["simulator_s"] / comparison[key]["median_s"]
    result["comparison"] = comparison

    result["large"] = {}
    for kernel in (reduction.naive, reduction.compact, reduction.sequential):
        name = kernel.__name__
        say(f"{name}: in-place sum of {LARGE:,} elements")
        result["large"][name] = {
            key: {
                **_time(kernel, partial(reduction_arguments, LARGE), hazards),
                "peak_bytes": _peak_bytes(kernel, partial(reduction_arguments, LARGE), hazards),
            }
            for key, hazards in (("counters", False), ("hazards", True))
        }

    say("cost against the number of lanes")
    result["scaling"] = []
    for power in (12, 14, 16, 18, 20):
        seconds = _time(reduction.naive, partial(reduction_arguments, 1 << power), False)["median_s"]
        result["scaling"].append({"elements": 1 << power, "threads": 1 << (power - 1), "seconds": seconds})

    say(f"one thread, {LOOP:,} times round a loop")
    result["one_thread_loop"] = _time(
        one_thread_loop, lambda: (1, (np.ones(LOOP, np.int64), np.zeros(1, np.int64))), False, threads=1
    )
    say("20,000 rows, one of 2,000 non-zeros")
    result["one_long_row"] = _time(spmv.row_per_thread, _one_long_row, False)
    reason = compiled.missing()
    say("CUDA C++ at the compiled level" + (f": left out ({reason})" if reason else ""))
    result["compiled_level"] = {"missing": reason} if reason else compiled.measure(quick)
    return result


# --- showing -------------------------------------------------------------------------------------------------------


def show(result: dict[str, Any], console: Console) -> None:
    """Print what `measure` returned as tables."""
    from rich.table import Table

    def table(*columns: str) -> Table:
        made = Table(box=None, padding=(0, 2), header_style="bold")
        for place, column in enumerate(columns):
            made.add_column(column, justify="right" if place else "left")
        return made

    comparison = result["comparison"]
    versus = table(f"in-place sum of {comparison['elements']:,}", "seconds", "first call", "simulator / ours")
    for key, label in (("counters", "gpukit, counters"), ("hazards", "gpukit, counters and hazards")):
        ours = comparison[key]
        ratio = f"{ours['ratio']:,.0f} x" if "ratio" in ours else "-"
        versus.add_row(label, f"{ours['median_s']:.4f}", f"{ours['first_s']:.4f}", ratio)
    if "simulator_s" in comparison:
        versus.add_row("numba's simulator", f"{comparison['simulator_s']:.1f}", "", "1 x")
    console.print(versus)
    if "missing" in comparison:
        console.print(comparison["missing"], style="yellow", highlight=False)

    large = table(f"in-place sum of {LARGE:,}", "counters", "peak memory", "with hazards", "peak memory")
    for name, timing in result["large"].items():
        cells = []
        for key in ("counters", "hazards"):
            cells += [f"{timing[key]['median_s']:.3f} s", f"{timing[key]['peak_bytes'] / MIB:,.0f} MiB"]
        large.add_row(name, *cells)
    console.print()
    console.print(large)

    scaling = table("threads", "seconds", "ns a thread")
    for point in result["scaling"]:
        each = 1e9 * point["seconds"] / point["threads"]
        scaling.add_row(f"{point['threads']:,}", f"{point['seconds']:.4f}", f"{each:,.0f}")
    console.print()
    console.print(scaling)

    few = table("few lanes at work", "seconds")
    few.add_row(f"one thread, {LOOP:,} loads and adds", f"{result['one_thread_loop']['median_s']:.3f}")
    few.add_row("20,000 rows, one of 2,000 non-zeros", f"{result['one_long_row']['median_s']:.3f}")
    console.print()
    console.print(few)

    if "missing" not in result["compiled_level"]:
        compiled_level = table("CUDA C++, compiled level", "counters", "peak memory", "with hazards", "peak memory")
        for name, timing in result["compiled_level"].items():
            cells = []
            for key in ("counters", "hazards"):
                cells += [f"{timing[key]['seconds']:.3f} s", f"{timing[key]['peak_bytes'] / MIB:,.0f} MiB"]
            compiled_level.add_row(name.replace("_", " "), *cells)
        console.print()
        console.print(compiled_level)
