"""What the tour runs: every kernel on its input, profiled, and its result checked against NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

import gpukit
from gpukit.errors import GpukitError
from gpukit.kernels import barriers, coalescing, divergence, reduction, spmv
from gpukit.resources import data_file
from gpukit.tour.matrix import Matrix

if TYPE_CHECKING:
    from gpukit.report import Report

N = 1 << 20
THREADS = 256


@dataclass(frozen=True)
class Step:
    """One profiled launch.

    `counters` are the launch's, or those of the one line that matters. `hardware` holds an H200's counters for the same
    launch, where there are any.
    """

    name: str
    report: Report
    counters: dict[str, Any]
    hardware: dict[str, int] | None = None

    def __getitem__(self, counter: str) -> Any:
        return self.counters[counter]


def hardware_counters() -> dict[str, Any]:
    """The readings of data/results/h200.json."""
    readings: dict[str, Any] = json.loads(data_file("results/h200.json").read_text(encoding="utf-8"))
    return readings


def _step(
    name: str,
    kernel: Callable,
    grid: int,
    args: tuple,
    result: np.ndarray,
    expect: np.ndarray,
    hardware: dict[str, int] | None = None,
    line: str | None = None,
) -> Step:
    """Profile one launch and check what it left in `result`; `line` is the text of the one line to count, if any."""
    report = gpukit.profile(kernel, grid, THREADS, *args, hazards=False)
    if not np.allclose(result, expect, rtol=1e-4):
        raise GpukitError(f"the kernel of the step '{name}' gave a wrong result; please report this as a bug of gpukit")
    counters = report.counters if line is None else next(at for at in report.lines if line in at.text).counters
    return Step(name, report, counters, hardware)


def branches() -> list[Step]:
    """2^20 integers, and two ways to share out two kinds of work."""
    x = np.arange(N, dtype=np.int32)
    i = np.arange(N)
    steps = []
    for name, kernel, first_side in (
        ("branch per lane", divergence.by_lane, i % 2 == 0),
        ("branch per warp", divergence.by_warp, i // 32 % 2 == 0),
    ):
        y = np.zeros_like(x)
        steps.append(_step(name, kernel, N // THREADS, (x, y), y, np.where(first_side, 3 * x + 1, x // 2)))
    return steps


def reads() -> list[Step]:
    """2^18 threads, each reads one of 2^20 floats: side by side, in strides, and anywhere."""
    hardware = hardware_counters()["strided_read"]
    rng = np.random.default_rng(0)
    x = rng.random(N, dtype=np.float32)
    threads = N // 4
    i = np.arange(threads)
    steps = []
    for stride in (1, 2, 8, 33):
        y = np.zeros(threads, np.float32)
        name, expect, reading = f"stride {stride}", x[i * stride % N], hardware[f"stride_{stride}"]
        steps.append(_step(name, coalescing.strided, threads // THREADS, (x, y, stride), y, expect, reading))
    index = rng.integers(0, N, threads).astype(np.int32)
    y = np.zeros(threads, np.float32)
    name, args = "random gather", (x, index, y)
    steps.append(_step(name, coalescing.gather, threads // THREADS, args, y, x[index], line="x[k]"))
    return steps


def reductions() -> list[Step]:
    """The sum of 2^20 integers in place, three times: 2,048 blocks, two elements a thread."""
    hardware = hardware_counters()["reductions"]
    x = np.random.default_rng(1).integers(0, 10, N).astype(np.int32)
    blocks = N // (2 * THREADS)
    expect = x.reshape(blocks, -1).sum(1)
    steps = []
    for kernel in (reduction.naive, reduction.compact, reduction.sequential):
        name = kernel.__name__
        partial = np.zeros(blocks, np.int32)
        steps.append(_step(name, kernel, blocks, (x.copy(), partial), partial, expect, hardware[name]))
    return steps


def sparse_products(matrix: Matrix) -> list[Step]:
    """The matrix times a vector, with a thread and with a warp per row."""
    x = np.random.default_rng(2).random(matrix.rows, dtype=np.float32)
    csr = (matrix.indptr, matrix.indices, matrix.data)
    expect = csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.rows, matrix.rows)) @ x
    steps = []
    for name, kernel, threads_per_row in (
        ("one thread per row", spmv.row_per_thread, 1),
        ("one warp per row", spmv.row_per_warp, 32),
    ):
        y = np.zeros(matrix.rows, np.float32)
        blocks = -(-matrix.rows * threads_per_row // THREADS)
        steps.append(_step(name, kernel, blocks, (*csr, x, y), y, expect))
    return steps


@dataclass(frozen=True)
class Check:
    """A kernel run with hazard detection on, and whether its result happened to be right."""

    name: str
    report: Report
    correct: bool


def checks() -> list[Check]:
    """A block sum with a barrier left out, and the same with the barrier."""
    x = np.random.default_rng(3).integers(0, 10, 16 * THREADS).astype(np.int32)
    results = []
    for kernel in (barriers.block_sum_without_barrier, barriers.block_sum):
        partial = np.zeros(16, np.int32)
        report = gpukit.profile(kernel, 16, THREADS, x, partial)
        results.append(Check(kernel.__name__, report, bool((partial == x.reshape(16, -1).sum(1)).all())))
    return results
