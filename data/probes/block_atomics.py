"""What one atomic a block costs, with few blocks and with many.

On a machine with an NVIDIA GPU, CuPy and numba-cuda, from the top of a checkout:

    PYTHONPATH=. python data/probes/block_atomics.py > data/results/h200_block_atomics.json

The same elements are summed with 160 to 32,768 blocks of 256 threads, once by `finish_atomic`, whose blocks all add to
one address, and once by `grid_stride`, whose blocks store a partial sum each. The difference is what the atomics cost.
Both are timed by turns, so that a clock that drifts drifts for both. The elements are ones: the total is checked exactly.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

import numpy as np

from gpukit import devices
from gpukit.kernels import reduction
from gpukit.provenance import provenance
from gpukit.registry import Launch, Plan, Problem
from gpukit.timing import benchmark_in_turns

SIZES = (1 << 24, 1 << 29)
BLOCKS = (160, 1_024, 4_096, 16_384, 32_768)
BLOCK = 256


def with_atomics(problem: Problem, blocks: int, device: Any) -> Plan:
    """`finish_atomic` with as many blocks as one likes."""
    data = problem.arrays["data"]
    return reduction.finished(
        reduction.finish_atomic,
        problem,
        device,
        lambda total: (Launch(reduction.finish_atomic, blocks, BLOCK, (data, total)),),
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


def main() -> None:
    """What the text at the top says."""
    gpu = devices.device("gpu")
    rows: list[dict[str, Any]] = []
    for n in SIZES:
        problem = reduction.problem(n, "ones", np.random.default_rng(0), gpu)
        for blocks in BLOCKS:
            plans = {
                "finish_atomic": checked(with_atomics(problem, blocks, gpu), problem, gpu),
                "grid_stride": checked(
                    reduction.plan_with_grid(reduction.grid_stride, problem, BLOCK, gpu, blocks), problem, gpu
                ),
            }
            timings = benchmark_in_turns(
                {name: partial(devices.run, plan, gpu) for name, plan in plans.items()},
                machine="gpu",
                bytes_moved=dict.fromkeys(plans, 4 * n),
            )
            row: dict[str, Any] = {"n": n, "blocks": blocks, "elements_per_thread": n / (blocks * BLOCK)}
            for name, timing in timings.items():
                row[name] = timing.to_dict()
            row["difference_s"] = timings["finish_atomic"].median - timings["grid_stride"].median
            rows.append(row)
            print({key: value for key, value in row.items() if not isinstance(value, dict)}, file=sys.stderr)
    machine = provenance("python data/probes/block_atomics.py > h200_block_atomics.json", gpu)
    print(json.dumps({"machine": machine, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
