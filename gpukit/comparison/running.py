"""Running one kernel at both levels on the same inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit import levels
from gpukit.comparison.accesses import Executed, place
from gpukit.comparison.model import COUNTERS, Difference, LevelComparison, LineComparison, ResultComparison
from gpukit.comparison.reasons import Reason, Reasons
from gpukit.errors import LaunchError
from gpukit.launching import Progress, Shape, errors_at_the_call, prepare
from gpukit.machine import executor
from gpukit.report.making import report_of

if TYPE_CHECKING:
    from gpukit.machine.program import Allocation, Launch
    from gpukit.report import LineReport, Report


@errors_at_the_call
def compare_levels(
    kernel: Any,
    grid: Shape,
    block: Shape,
    *args: Any,
    shared_bytes: int = 0,
    gpu: str | None = None,
    progress: Progress | None = None,
) -> LevelComparison:
    """Run a numba.cuda kernel at source level and at compiled level and say where their counters differ, and why.

    Both runs start from the same inputs, and the arrays in `args` are as before when this returns. Arguments as for
    `gpukit.profile`; hazards are not looked for.

    Raises:
        LaunchError: the kernel is CUDA C++ or PTX, which has no source level, or as for `gpukit.profile`.
    """
    if levels.is_compiled(kernel):
        raise LaunchError(f"`{levels.name_of(kernel)}` is CUDA C++ or PTX: there is no source level to compare with")
    source = prepare(kernel, grid, block, args, shared_bytes, levels.SOURCE)
    compiled = prepare(kernel, grid, block, args, shared_bytes, levels.COMPILED)
    written = [a for a in source.allocations if a is not None and not a.readonly]
    arrays = list({id(allocation.data): allocation for allocation in written}.values())
    inputs = [allocation.data.copy() for allocation in arrays]
    try:
        before = _run(source, gpu, progress)
        by_source = [allocation.data.copy() for allocation in arrays]
        _put_back(arrays, inputs)
        after = _run(compiled, gpu, progress)
        results = [
            _results(allocation, old)
            for allocation, old, new in zip(arrays, by_source, inputs, strict=True)
            if not np.array_equal(new, old) or not np.array_equal(new, allocation.data)
        ]
    finally:
        _put_back(arrays, inputs)
    reasons = _reasons(source, before[0], compiled, after[0])
    lines = _lines(before[1], after[1], reasons)
    return LevelComparison(before[1], after[1], _totals(before[1], after[1], lines), lines, results)


def _run(launch: Launch, gpu: str | None, progress: Progress | None) -> tuple[executor.Run, Report]:
    started = time.perf_counter()
    run = executor.run(launch, hazards=False, progress=progress)
    return run, report_of(launch, run, False, gpu, time.perf_counter() - started)


def _put_back(arrays: Sequence[Allocation], contents: Sequence[np.ndarray]) -> None:
    for allocation, content in zip(arrays, contents, strict=True):
        allocation.data[:] = content


def _results(allocation: Allocation, by_source: np.ndarray) -> ResultComparison:
    """What the compiled run left in an array (now in the allocation) against what the source run left."""
    dtype = allocation.dtype
    source, compiled = by_source.view(dtype), allocation.data.view(dtype)
    if dtype.kind not in "fciub":
        differing = np.frombuffer(source.tobytes(), f"V{dtype.itemsize}") != np.frombuffer(
            compiled.tobytes(), f"V{dtype.itemsize}"
        )
        return ResultComparison(allocation.name, source.size, int(differing.sum()))
    differing = source != compiled
    largest = 0.0
    if dtype.kind in "fc":
        differing &= ~(np.isnan(source) & np.isnan(compiled))
        finite = differing & np.isfinite(source) & np.isfinite(compiled)
        largest = float(np.abs(source[finite] - compiled[finite]).max(initial=0))
    return ResultComparison(allocation.name, source.size, int(differing.sum()), largest)


# --- differences -----------------------------------------------------------------------------------------------------

ReasonsFor = Callable[[tuple[str, int], str], list[Reason]]


def _reasons(source: Launch, source_run: executor.Run, compiled: Launch, compiled_run: executor.Run) -> ReasonsFor:
    """Reasons by line and kind of instruction; arrays are told apart where the compiled code shows which is which."""
    before = Executed(source.program, source_run, by_array=True)
    after = Executed(compiled.program, compiled_run, by_array=True)
    if not after.arrays <= before.arrays:
        before = Executed(source.program, source_run, by_array=False)
        after = Executed(compiled.program, compiled_run, by_array=False)
    return Reasons(before, after).of


def _lines(source: Report, compiled: Report, reasons: ReasonsFor) -> list[LineComparison]:
    """The lines of the source report, with those that only the compiled code has put in their place."""
    by_source = {place(line.file, line.number): line for line in source.lines}
    by_compiled = {place(line.file, line.number): line for line in compiled.lines}
    places = by_compiled | by_source
    files = list(dict.fromkeys(file for file, _ in (*by_source, *by_compiled)))
    found = []
    for here in sorted(places, key=lambda here: (files.index(here[0]), here[1])):
        line, before, after = places[here], by_source.get(here), by_compiled.get(here)
        differences = []
        for counter, _, what in COUNTERS:
            written, made = _count(before, counter), _count(after, counter)
            if written or made:
                why = [] if written == made else reasons(here, what)
                differences.append(Difference(counter, written, made, why))
        found.append(LineComparison(line.file, line.number, line.text, differences))
    return found


def _count(line: LineReport | None, counter: str) -> int | float:
    return 0 if line is None else line.counters.get(counter, 0)


def _totals(source: Report, compiled: Report, lines: Sequence[LineComparison]) -> list[Difference]:
    """The kernel's counters; their reasons are those of the lines, each once."""
    totals = []
    for counter, _, _ in COUNTERS:
        before, after = source.counters.get(counter, 0), compiled.counters.get(counter, 0)
        if before or after:
            here = [d for line in lines for d in line.counters if d.counter == counter and not d.equal]
            totals.append(Difference(counter, before, after, list(dict.fromkeys(r for d in here for r in d.reasons))))
    return totals
