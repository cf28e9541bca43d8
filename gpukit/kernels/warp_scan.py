"""Scan: the running sum of an array, a block at a time, in shared memory and by shuffles.

Three launches: every block scans its own elements and leaves its sum; one block scans the sums; every block adds what
lies before it. The rungs differ in the first.

Source: W. D. Hillis and G. L. Steele, "Data Parallel Algorithms" (1986), for `shared_steps`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.errors import GpukitError
from gpukit.registry import Family, Launch, Plan, Problem, launchable
from gpukit.warp import warp_scan

PRODUCES = "the running sums"
ONE_BLOCK = 1024  # threads of the block that scans the sums
LARGEST = (2**31 - 1) // 9


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """`x` int32 (n,): ones, or whole numbers from -9 to 9; sums fit in int32 and are exact."""
    if n > LARGEST:
        raise GpukitError(f"the running sums of {n:,} numbers may not fit in int32; choose at most {LARGEST:,}")
    x = np.ones(n, np.int32) if kind == "ones" else rng.integers(-9, 10, n).astype(np.int32)
    return Problem(n, kind, {"x": device.xp.asarray(x)}, np.cumsum(x, dtype=np.int64))


FAMILY = Family(
    __name__,
    problem,
    kinds=("ones", "whole numbers"),
    lengths=(1, 31, 32, 33, 255, 257, 1000, 4095),
    blocks=(32, 64, 128, 256, 512, 1024),
    counters=("shared_load_requests", "shared_store_requests", "barriers", "global_load_requests"),
    cpu_n=1 << 17,
    gpu_n=1 << 26,
)


def plan(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One element per thread; `y` int32 (n,), and a sum per block."""
    x, xp = problem.arrays["x"], device.xp
    blocks = -(-problem.n // block)
    y, sums = xp.empty(problem.n, np.int32), xp.empty(blocks, np.int32)
    made, args = launchable(kernel, (x, y, sums), problem.n)
    return Plan(
        answer=lambda: device.to_host(y),
        launches=(
            Launch(made, blocks, block, args),
            Launch(scan_sums, 1, ONE_BLOCK, (sums,)),
            Launch(add_what_lies_before, blocks, block, (y, sums)),
        ),
        outputs=(y, sums),
        bytes_moved=8 * problem.n,
        flops=problem.n,
    )


@cuda.jit
def scan_sums(sums):
    """One block turns the blocks' sums into running sums, in place, a chunk at a time."""
    of_warp = cuda.shared.array(32, np.int32)
    t = cuda.threadIdx.x
    before = np.int32(0)
    for chunk in range(0, sums.size, cuda.blockDim.x):
        i = chunk + t
        value = np.int32(warp_scan(sums[i] if i < sums.size else np.int32(0)))
        if t % 32 == 31:
            of_warp[t // 32] = value
        cuda.syncthreads()
        if t < 32:
            scanned = warp_scan(of_warp[t] if t < cuda.blockDim.x // 32 else np.int32(0))
            of_warp[t] = scanned
        cuda.syncthreads()
        if t >= 32:
            value += of_warp[t // 32 - 1]
        if i < sums.size:
            sums[i] = before + value
        before += of_warp[cuda.blockDim.x // 32 - 1]
        cuda.syncthreads()  # the next chunk overwrites of_warp


@cuda.jit
def add_what_lies_before(y, sums):
    """y[i] += the sum of all blocks before the one of i."""
    i = cuda.grid(1)
    if i < y.size and cuda.blockIdx.x > 0:
        y[i] += sums[cuda.blockIdx.x - 1]


@FAMILY.kernel(plan, produces=PRODUCES)
@cuda.jit
def shared_steps(x, y, sums):
    """log2(threads) steps in shared memory, each between two barriers.

    In step k every element adds the one 2^k places before it (Hillis and Steele): T log2 T additions where T - 1 would
    do, but all threads work in every step.

    Args:
        x: int32 (n,). Not changed.
        y: int32 (n,), the running sums within each block.
        sums: int32 (blocks,), the sum of each block.
    """
    tile = cuda.shared.array(1024, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    offset = 1
    while offset < cuda.blockDim.x:
        before = tile[t - offset] if t >= offset else np.int32(0)
        cuda.syncthreads()  # all have read
        tile[t] += before
        cuda.syncthreads()  # all have written
        offset *= 2
    if i < x.size:
        y[i] = tile[t]
    if t == cuda.blockDim.x - 1:
        sums[cuda.blockIdx.x] = tile[t]


@FAMILY.kernel(
    plan,
    against="shared_steps",
    falls=("shared_load_requests", "shared_store_requests", "barriers"),
    stays=("global_load_requests", "global_load_sectors", "global_store_requests"),
    produces=PRODUCES,
)
@cuda.jit
def two_levels(x, y, sums):
    """A scan per warp by shuffles, then one scan of the warps' sums.

    Versus: shared_steps: five of the steps move from shared memory to registers; what is left is one slot per warp.
    Expect: shared requests fall more than 8 times and barriers from 17 to 2 in a block of 256; global traffic stays.

    Args:
        x: int32 (n,). Not changed.
        y: int32 (n,), the running sums within each block.
        sums: int32 (blocks,), the sum of each block.
    """
    of_warp = cuda.shared.array(32, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    value = warp_scan(x[i] if i < x.size else np.int32(0))
    if t % 32 == 31:
        of_warp[t // 32] = value
    cuda.syncthreads()
    if t < 32:
        of_warp[t] = warp_scan(of_warp[t] if t < cuda.blockDim.x // 32 else np.int32(0))
    cuda.syncthreads()
    if t >= 32:
        value += of_warp[t // 32 - 1]
    if i < x.size:
        y[i] = value
    if t == cuda.blockDim.x - 1:
        sums[cuda.blockIdx.x] = value


FAMILY.cpp(
    "two_levels",
    plan,
    file="warp.cu",
    against="shared_steps",
    falls=("shared_load_requests", "shared_store_requests", "barriers"),
    stays=("global_load_requests", "global_load_sectors", "global_store_requests"),
    produces=PRODUCES,
)


def _library(function: Any, problem: Problem, block: int, device: Device) -> Plan:
    x = problem.arrays["x"]
    y = device.xp.empty_like(x)
    return Plan(
        answer=lambda: device.to_host(y),
        call=lambda: function(device.xp, x, y),
        outputs=(y,),
        bytes_moved=8 * problem.n,
        flops=problem.n,
        clock="device",
    )


@FAMILY.host(_library, produces=PRODUCES)
def library(xp: Any, x: Any, y: Any) -> None:
    """The array library's cumsum: NumPy on a CPU, CUB through CuPy on a GPU."""
    xp.cumsum(x, out=y)
