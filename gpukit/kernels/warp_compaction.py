"""Compaction: keep the positive elements of an array, one atomic per element, one per warp, and in order.

Where an element goes depends on how many are kept before it. Atomics hand out places in whatever order they come; a
count per block and a scan of the counts keep the order.

Source: A. Adinets, "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics" (2014), for `ballot`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.kernels.warp_scan import ONE_BLOCK, scan_sums
from gpukit.registry import Family, Launch, Plan, Problem, launchable
from gpukit.warp import FULL, place_among, warp_scan

ANY_ORDER, IN_ORDER = "the kept elements, in any order", "the kept elements, in order"


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """`x` int32 (n,): element i is i + 1 to be kept or -1 to be dropped, so that kept elements ascend.

    "all" keeps everything, "half" every element with probability 1/2.
    """
    keep = np.full(n, True) if kind == "all" else rng.random(n) < 0.5
    x = np.where(keep, np.arange(1, n + 1), -1).astype(np.int32)
    return Problem(n, kind, {"x": device.xp.asarray(x)}, np.flatnonzero(keep) + 1)


FAMILY = Family(
    __name__,
    problem,
    kinds=("all", "half"),
    lengths=(1, 31, 32, 33, 255, 257, 1000, 4095),
    blocks=(32, 64, 128, 256, 512, 1024),
    counters=("global_atomics", "global_load_requests", "global_store_requests", "warp_synchronisations"),
    cpu_n=1 << 16,
    gpu_n=1 << 26,
)


def by_atomics(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """`kept` int32 (n,) fills from the front, `count` int32 (1,) counts. There is no order, so the answer is sorted."""
    x, xp = problem.arrays["x"], device.xp
    kept, count = xp.empty(problem.n, np.int32), xp.zeros(1, np.int32)
    made, args = launchable(kernel, (x, kept, count), problem.n)
    return Plan(
        answer=lambda: np.sort(device.to_host(kept)[: int(device.to_host(count)[0])]),
        launches=(Launch(made, -(-problem.n // block), block, args),),
        outputs=(kept,),
        restores=((count, 0),),
        bytes_moved=4 * problem.n + 4 * len(problem.expected),
        flops=problem.n,
    )


@FAMILY.kernel(by_atomics, produces=ANY_ORDER)
@cuda.jit
def atomic_each(x, kept, count):
    """Every kept element asks for its place: one atomic each, all on one address.

    That is what the source says, and what the source level counts. The compiler sees that the lanes of a warp add one
    constant to one address, and lets one of them ask for all, with a vote, a population count and a shuffle: on a GPU
    (and at the compiled level) there are no more atomics, and no more of their sectors, than in `ballot`.

    Args:
        x: int32 (n,). Not changed.
        kept: int32 (n,), filled from the front.
        count: int32 (1,), 0 before, the number of kept elements after.
    """
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]
        if value > 0:
            kept[cuda.atomic.add(count, 0, 1)] = value


@FAMILY.kernel(
    by_atomics,
    against="atomic_each",
    falls=("atomic_max_contention",),
    stays=("global_load_requests", "global_load_sectors"),
    produces=ANY_ORDER,
)
@cuda.jit
def ballot(x, kept, count):
    """One atomic per warp: its lanes share out the places among themselves.

    Versus: atomic_each: a ballot says who keeps, a population count below the own lane where; lane 0 asks for all.
    Expect: the atomics of a warp no longer queue at one address: at most 1 of its lanes is there, not up to 32. The
    compiler makes the same of `atomic_each` by itself, so on a GPU both do the same atomics.

    Args:
        x: int32 (n,). Not changed.
        kept: int32 (n,), filled from the front.
        count: int32 (1,), 0 before, the number of kept elements after.
    """
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.int32(0)
    place, many = place_among(value > 0)
    first = np.int32(0)
    if cuda.laneid == 0 and many > 0:
        first = cuda.atomic.add(count, 0, many)
    first = cuda.shfl_sync(FULL, first, 0)
    if value > 0:
        kept[first + place] = value


FAMILY.cpp(
    "ballot",
    by_atomics,
    file="warp.cu",
    against="atomic_each",
    falls=("atomic_max_contention",),
    stays=("global_load_requests", "global_load_sectors"),
    produces=ANY_ORDER,
)


def in_order(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """Three launches: a count per block, running sums of the counts, then every block writes after those before it."""
    x, xp = problem.arrays["x"], device.xp
    blocks = -(-problem.n // block)
    kept, counts = xp.empty(problem.n, np.int32), xp.empty(blocks, np.int32)
    return Plan(
        answer=lambda: device.to_host(kept)[: int(device.to_host(counts)[-1])],
        launches=(
            Launch(count_kept, blocks, block, (x, counts)),
            Launch(scan_sums, 1, ONE_BLOCK, (counts,)),
            Launch(kernel, blocks, block, (x, kept, counts)),
        ),
        outputs=(kept, counts),
        bytes_moved=4 * problem.n + 4 * len(problem.expected),
        flops=problem.n,
    )


@cuda.jit
def count_kept(x, counts):
    """How many elements each block keeps."""
    i = cuda.grid(1)
    many = cuda.syncthreads_count(int(i < x.size and x[i] > 0))
    if cuda.threadIdx.x == 0:
        counts[cuda.blockIdx.x] = many


@FAMILY.kernel(
    in_order,
    against="ballot",
    falls=("global_atomics",),
    rises=("global_load_requests",),
    produces=IN_ORDER,
)
@cuda.jit
def two_passes(x, kept, counts):
    """Count first, then write in order: no atomic at all.

    Versus: ballot: a pass that counts and a scan of the counts come first, so that every block knows its place.
    Expect: atomics fall to 0 and the order is kept; x is read twice, so global load requests more than double.

    Args:
        x: int32 (n,). Not changed.
        kept: int32 (n,), filled from the front.
        counts: int32 (blocks,), how many are kept up to and including each block.
    """
    of_warp = cuda.shared.array(32, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.int32(0)
    place, many = place_among(value > 0)
    if t % 32 == 0:
        of_warp[t // 32] = many
    cuda.syncthreads()
    if t < 32:
        of_warp[t] = warp_scan(of_warp[t] if t < cuda.blockDim.x // 32 else np.int32(0))
    cuda.syncthreads()
    first = counts[cuda.blockIdx.x - 1] if cuda.blockIdx.x > 0 else np.int32(0)
    if t >= 32:
        first += of_warp[t // 32 - 1]
    if value > 0:
        kept[first + place] = value
