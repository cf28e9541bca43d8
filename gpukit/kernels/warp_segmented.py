"""Segmented reduction: sums of runs of neighbouring elements, one atomic per element or one per run and warp.

Element i belongs to segment segment[i], which never falls from one element to the next; segments may be empty.

Source: S. Sengupta, M. Harris, Y. Zhang, J. D. Owens, "Scan Primitives for GPU Computing" (2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.registry import Family, Launch, Plan, Problem
from gpukit.warp import FULL, segmented_scan

PRODUCES = "a sum per segment"
MEAN_LENGTH = 8  # elements of a segment, on average


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """`value` int32 (n,) from 0 to 9, `segment` int32 (n,); "ones" counts the elements of each segment."""
    segments = max(1, n // MEAN_LENGTH)
    segment = np.sort(rng.integers(0, segments, n)).astype(np.int32)
    value = np.ones(n, np.int32) if kind == "ones" else rng.integers(0, 10, n).astype(np.int32)
    arrays = {"value": device.xp.asarray(value), "segment": device.xp.asarray(segment)}
    return Problem(n, kind, arrays, np.bincount(segment, value, segments).astype(np.int64))


FAMILY = Family(
    __name__,
    problem,
    kinds=("ones", "whole numbers"),
    lengths=(1, 31, 32, 33, 255, 257, 1000, 4095),
    blocks=(32, 64, 128, 256, 512, 1024),
    counters=("global_atomics", "atomic_max_contention", "warp_synchronisations", "global_load_requests"),
    cpu_n=1 << 16,
    gpu_n=1 << 25,
)


def plan(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One thread per element; `sums` int32, one per segment, from 0."""
    value, segment = problem.arrays["value"], problem.arrays["segment"]
    sums = device.xp.zeros(len(problem.expected), np.int32)
    return Plan(
        answer=lambda: device.to_host(sums),
        launches=(Launch(kernel, -(-problem.n // block), block, (value, segment, sums)),),
        outputs=(),
        restores=((sums, 0),),
        bytes_moved=8 * problem.n + 4 * sums.size,
        flops=problem.n,
    )


@FAMILY.kernel(plan, produces=PRODUCES)
@cuda.jit
def atomic_each(value, segment, sums):
    """Every element adds itself to its segment: the lanes of a run queue at one address.

    Args:
        value: int32 (n,). Not changed.
        segment: int32 (n,), ascending. Not changed.
        sums: int32 (segments,), 0 before.
    """
    i = cuda.grid(1)
    if i < value.size:
        cuda.atomic.add(sums, segment[i], value[i])


@FAMILY.kernel(
    plan,
    against="atomic_each",
    falls=("atomic_max_contention",),
    rises=("warp_synchronisations",),
    produces=PRODUCES,
)
@cuda.jit
def warp_runs(value, segment, sums):
    """A warp adds up its runs by shuffles; the last lane of each run brings the sum to the segment.

    Versus: atomic_each: a segmented scan over the warp, with a head wherever the segment changes.
    Expect: at most one lane of a warp is at an address, so atomics no longer queue; shuffles and a ballot appear.

    Args:
        value: int32 (n,). Not changed.
        segment: int32 (n,), ascending. Not changed.
        sums: int32 (segments,), 0 before.
    """
    i = cuda.grid(1)
    lane = cuda.laneid
    mine = segment[i] if i < value.size else np.int32(-1)
    before = cuda.shfl_up_sync(FULL, mine, 1)
    total = segmented_scan(value[i] if i < value.size else np.int32(0), lane == 0 or mine != before)
    after = cuda.shfl_down_sync(FULL, mine, 1)
    if mine >= 0 and (lane == 31 or after != mine):
        cuda.atomic.add(sums, mine, total)
