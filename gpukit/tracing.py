"""`gpukit.trace`: a launch on the CPU machine with a record of what a few of its thread blocks do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpukit.errors import LaunchError
from gpukit.launching import Shape, errors_at_the_call, prepare
from gpukit.machine.trace import DEFAULT_STEPS, Trace, record, record_run
from gpukit.report import Report
from gpukit.report.making import report_of


@errors_at_the_call
def trace(
    kernel: Any,
    grid: Shape,
    block: Shape,
    *args: Any,
    shared_bytes: int = 0,
    level: str | None = None,
    blocks: int | Sequence[int] = (0,),
    max_steps: int = DEFAULT_STEPS,
) -> Trace:
    """Run a kernel on the CPU machine and record, step by step, what a few thread blocks do.

    Args:
        kernel, grid, block, *args, shared_bytes, level: as for `profile`; arrays are updated in place.
        blocks: numbers of the thread blocks to record (linear, x fastest), or one number.
        max_steps: where the recording stops; the run goes on, and the trace says that it is `truncated`.

    Returns:
        A `Trace`: steps with the lanes that are active, waiting and done, and memory requests with the address of
        each lane; `to_dict()` makes plain data of it (`gpukit.machine.trace` describes it) for `gpukit.plots`.

    Raises:
        LaunchError: the shape, the arguments, `blocks` or `max_steps` are wrong.
        GpukitError: whatever else `profile` raises.
    """
    made = prepare(kernel, grid, block, args, shared_bytes, level)
    n_blocks = made.grid[0] * made.grid[1] * made.grid[2]
    return record(made, _chosen(blocks, n_blocks), _bound(max_steps))


@errors_at_the_call
def profile_and_trace(
    kernel: Any,
    grid: Shape,
    block: Shape,
    *args: Any,
    shared_bytes: int = 0,
    hazards: bool = True,
    gpu: str | None = None,
    level: str | None = None,
    blocks: int | Sequence[int] | None = None,
    trace_steps: int = DEFAULT_STEPS,
    max_steps: int | None = None,
) -> tuple[Report, Trace]:
    """What `profile` and `trace` return, of one and the same run: arrays are updated once.

    Args:
        blocks: as for `trace`; the first and the last one by default.
        trace_steps: `max_steps` of `trace`; `max_steps` is that of `profile`, the other arguments are those of both.
    """
    made = prepare(kernel, grid, block, args, shared_bytes, level)
    n_blocks = made.grid[0] * made.grid[1] * made.grid[2]
    chosen = _chosen((0, n_blocks - 1) if blocks is None else blocks, n_blocks)
    started = time.perf_counter()
    run, trace = record_run(made, chosen, _bound(trace_steps), hazards=hazards, max_steps=max_steps)
    return report_of(made, run, hazards, gpu, time.perf_counter() - started), trace


def _chosen(blocks: int | Sequence[int], n_blocks: int) -> list[int]:
    numbers = [blocks] if isinstance(blocks, int | np.integer) else list(blocks)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < n_blocks:
            raise LaunchError(f"blocks={blocks!r}: a thread block of this grid is a number from 0 to {n_blocks - 1:,}")
    if not numbers:
        raise LaunchError("blocks is empty: name at least one thread block to record, for example blocks=(0,)")
    return [int(number) for number in numbers]


def _bound(max_steps: int) -> int:
    if isinstance(max_steps, bool) or not isinstance(max_steps, int | np.integer) or max_steps < 1:
        raise LaunchError(f"max_steps must be a whole number of steps, 1 or more; got {max_steps!r}")
    return int(max_steps)
