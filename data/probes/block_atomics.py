"""What atomics on one address cost: one a block, with few blocks and with many, and one a thread.

On a machine with an NVIDIA GPU, CuPy and numba-cuda, from the top of a checkout:

    PYTHONPATH=. python data/probes/block_atomics.py > data/results/h200_block_atomics.json

The same elements are summed with 160 to 32,768 blocks, once by `finish_atomic`, whose blocks all add to one address,
and once by `grid_stride`, whose blocks store a partial sum each: the difference is what the atomics cost. In
`every_thread` each thread adds what it has summed. All are timed by turns, so that a clock that drifts drifts for all.
All elements are 1, and the total is checked exactly: as float32 it is exact up to 2^24.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

import numpy as np

from gpukit import cuda, devices
from gpukit.kernels import reduction
from gpukit.kernels.reduction import strided_sum
from gpukit.provenance import provenance
from gpukit.registry import Launch, Plan, Problem
from gpukit.timing import benchmark_in_turns

SETTINGS = ((1 << 20, 32), (1 << 24, 256), (1 << 29, 256))  # elements, threads per block
BLOCKS = (160, 1_024, 4_096, 16_384, 32_768)
EXACT_IN_FLOAT32 = 1 << 24


@cuda.jit
def every_thread(data, total):
    """Each thread adds what it has summed to the total: as many atomics on one address as threads."""
    cuda.atomic.add(total, 0, strided_sum(data))


def to_one_number(kernel: Any, problem: Problem, blocks: int, block: int, device: Any) -> Plan:
    """A kernel that adds to a total, which is 0 before, with as many blocks as one likes."""
    data = problem.arrays["data"]
    return reduction.finished(
        kernel,
        problem,
        device,
        lambda total: (Launch(kernel, blocks, block, (data, total)),),
        starts_at_zero=True,
    )


def checked(plan: Plan, problem: Problem, device: Any) -> Plan:
    """The plan, once it has been run and its answer is the exact one."""
    devices.restore(plan)
    devices.run(plan, device)
    device.synchronize()
    answer = float(plan.answer())
    if answer != float(problem.expected):
        raise SystemExit(f"the sum is {answer:,.0f}, and {float(problem.expected):,.0f} would be right")
    return plan


def ones(n: int, dtype: str, device: Any) -> Problem:
    """n ones of int32 or float32."""
    return Problem(n, "ones", {"data": device.xp.ones(n, np.dtype(dtype))}, np.asarray(n, np.int64))


def measured(problem: Problem, blocks: int, block: int, device: Any) -> dict[str, Any]:
    """Timings of the three kernels in this grid, by name."""
    plans = {
        "grid_stride": reduction.plan_with_grid(reduction.grid_stride, problem, block, device, blocks),
        "finish_atomic": to_one_number(reduction.finish_atomic, problem, blocks, block, device),
        "every_thread": to_one_number(every_thread, problem, blocks, block, device),
    }
    for plan in plans.values():
        checked(plan, problem, device)
    timings = benchmark_in_turns(
        {name: partial(devices.run, plan, device) for name, plan in plans.items()},
        machine="gpu",
        bytes_moved=dict.fromkeys(plans, 4 * problem.n),
    )
    return {name: timing.to_dict() for name, timing in timings.items()}


def main() -> None:
    """What the text at the top says."""
    gpu = devices.device("gpu")
    rows: list[dict[str, Any]] = []
    for n, block in SETTINGS:
        for dtype in ("int32", "float32"):
            if dtype == "float32" and n > EXACT_IN_FLOAT32:
                continue
            problem = ones(n, dtype, gpu)
            for blocks in BLOCKS:
                row = {"n": n, "dtype": dtype, "blocks": blocks, "block": block}
                rows.append(row | measured(problem, blocks, block, gpu))
                times = {name: f"{1e6 * it['median_s']:.2f} us" for name, it in rows[-1].items() if name not in row}
                print(row | times, file=sys.stderr)
    machine = provenance("python data/probes/block_atomics.py > h200_block_atomics.json", gpu)
    print(json.dumps({"machine": machine, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
