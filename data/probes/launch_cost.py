"""What a launch costs the host, and how much of it two CUDA events take for the GPU's time.

On a machine with an NVIDIA GPU, CuPy and numba-cuda, from the top of a checkout:

    PYTHONPATH=. python data/probes/launch_cost.py > data/results/h200_launch_cost.json

An event is passed at once when the GPU has nothing to do; the launch that follows it takes the host its time, and the
GPU waits for it between the events. `held` keeps the GPU busy until the host has queued everything, as
`gpukit.benchmark` does; `free` does not.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

import numpy as np

from gpukit import devices, registry
from gpukit.clocks import GpuClock
from gpukit.provenance import provenance
from gpukit.timing import benchmark

SIZES = (1 << 24, 1 << 26, 1 << 28, 1 << 29)
RUNGS = ("grid_stride", "coarsened", "cpp:grid_stride", "cpp:vectorized_unrolled", "cupy_sum")


class FreeClock(GpuClock):
    """Events without anything before them."""

    def hold(self, seconds: float) -> bool:
        return True


def main() -> None:
    """What the text at the top says."""
    gpu = devices.device("gpu")
    family = registry.find_family("reduction")
    rows: list[dict[str, Any]] = []
    for n in SIZES:
        problem = family.problem(n, "random", np.random.default_rng(0), gpu)
        for key in RUNGS:
            plan = family.rungs[key].plan(problem, family.block, gpu)
            run = partial(devices.run, plan, gpu)
            held, free = (
                benchmark(run, clock=clock, bytes_moved=plan.bytes_moved) for clock in (GpuClock(), FreeClock())
            )
            row = {"rung": key, "n": n, "held_s": held.median, "free_s": free.median, "host_s": held.host_seconds}
            rows.append(row | {"held_gb_s": held.bandwidth_gb_s, "free_gb_s": free.bandwidth_gb_s})
            print(rows[-1], file=sys.stderr)
    machine = provenance("python data/probes/launch_cost.py > h200_launch_cost.json", gpu)
    print(json.dumps({"machine": machine, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
