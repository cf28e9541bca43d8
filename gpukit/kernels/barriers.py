"""What a barrier orders and where it may stand: the sum of a block, as it should be and as it is often written.

A barrier makes what the threads of a block wrote before it visible to all of them after it, and every thread of the
block must reach it. A kernel that leaves it out has a race: the sum comes out right today, on this machine, at this
clock rate, and there is nothing that says it must. So the rungs here that are wrong give the right sum on the CPU
machine, which runs threads in one fixed order, and are told apart by the hazards alone.

Blocks have a power of two threads, from 64 to 1,024; the block's sum goes to `partial[blockIdx.x]`.

Source: CUDA C++ Programming Guide, "Synchronization Functions" and "Independent Thread Scheduling".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.inputs import random_integers
from gpukit.registry import Family, Launch, Plan, Problem
from gpukit.warp import warp_sum

MOST_THREADS = 1024  # of a block, on every GPU


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """n elements to sum, int32: all of them 1, or drawn from 0 to 9. Both sums are exact."""
    x = device.xp.ones(n, np.int32) if kind == "ones" else random_integers(n, 10, rng, device)
    return Problem(n, kind, {"x": x}, device.to_host(x.sum(dtype=np.int64)))


FAMILY = Family(
    __name__,
    problem,
    kinds=("ones", "digits"),
    lengths=(0, 1, 31, 33, 255, 257, 1000, 4096),
    blocks=(64, 128, 256, 512, 1024),
    counters=("barriers", "warp_synchronisations", "shared_load_requests", "shared_store_requests"),
    cpu_n=1 << 18,
    gpu_n=1 << 26,
)


def partial_sums(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One element per thread, one sum per block; the host adds the sums up."""
    x = problem.arrays["x"]
    blocks = max(1, -(-problem.n // block))
    partial = device.xp.empty(blocks, x.dtype)
    return Plan(
        answer=lambda: device.to_host(partial).sum(dtype=np.int64),
        launches=(Launch(kernel, blocks, block, (x, partial)),),
        outputs=(partial,),
        bytes_moved=x.nbytes + partial.nbytes,
        flops=problem.n,
    )


@FAMILY.kernel(partial_sums, produces="a partial sum per block")
@cuda.jit
def block_sum(x, partial):
    """A tree in shared memory with a barrier after every step: what is read is there.

    Expect: 1 + log2(T) barriers in a block of T threads: 9 for 256.

    Args:
        x: int32 (n,).
        partial: int32 (blocks,), gets the sum of each block.
    """
    tile = cuda.shared.array(MOST_THREADS, x.dtype)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tid] = x[i] if i < x.size else x.dtype.type(0)
    cuda.syncthreads()  # every element is in the tile before anyone adds
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if tid < stride:
            tile[tid] += tile[tid + stride]
        cuda.syncthreads()  # outside the `if`, so that all threads reach it
        stride //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


@FAMILY.kernel(
    partial_sums,
    against="block_sum",
    falls=("barriers",),
    stays=("shared_load_requests", "shared_store_requests"),
    hazard="race_shared",
    produces="a partial sum per block",
)
@cuda.jit
def block_sum_without_barrier(x, partial):
    """WRONG, a race: a thread may read a sum that another warp has not written yet.

    Versus: block_sum: the barrier of the loop is left out.
    Expect: barriers fall to one a block, and the check reports race_shared. The loads and stores are the same ones, and
        so is the sum, as long as the warps happen to run one step at a time.

    Args:
        x: int32 (n,).
        partial: int32 (blocks,), gets the sum of each block, by luck.
    """
    tile = cuda.shared.array(MOST_THREADS, x.dtype)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tid] = x[i] if i < x.size else x.dtype.type(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if tid < stride:
            tile[tid] += tile[tid + stride]
        stride //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


# Not for a GPU: there the threads that wait may wait for ever.
@FAMILY.kernel(
    partial_sums,
    against="block_sum",
    stays=("barriers", "shared_load_requests", "shared_store_requests"),
    hazard="barrier_divergence",
    produces="a partial sum per block",
    machines=("cpu",),
)
@cuda.jit
def barrier_in_branch(x, partial):
    """WRONG, a barrier that some threads never reach: it stands inside `if tid < stride`.

    Versus: block_sum: the barrier of the loop moved into the branch that adds.
    Expect: the check reports barrier_divergence. No counter moves: every barrier is still passed, by fewer threads.

    Args:
        x: int32 (n,).
        partial: int32 (blocks,), gets the sum of each block, if the kernel ends at all.
    """
    tile = cuda.shared.array(MOST_THREADS, x.dtype)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tid] = x[i] if i < x.size else x.dtype.type(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if tid < stride:
            tile[tid] += tile[tid + stride]
            cuda.syncthreads()
        stride //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


@FAMILY.kernel(
    partial_sums,
    against="block_sum",
    falls=("barriers", "shared_load_requests", "shared_store_requests"),
    rises=("warp_synchronisations",),
    produces="a partial sum per block",
)
@cuda.jit
def publish(x, partial):
    """Publish and consume: every warp leaves its sum, one barrier, thread 0 takes them all.

    Versus: block_sum: only the sums of whole warps go through shared memory; the rest are shuffles, which need no
        barrier because the lanes of a warp meet in them.
    Expect: barriers fall from 9 to 1 in a block of 256, shared stores from 20 requests to 8, shared loads from 25 to 7.
        40 shuffles come in; compiled they are 80, since numba adds int32 as int64, which moves as two words.

    Args:
        x: int32 (n,).
        partial: int32 (blocks,), gets the sum of each block.
    """
    slots = cuda.shared.array(32, x.dtype)  # one for each warp of the largest block
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    total = warp_sum(x[i] if i < x.size else x.dtype.type(0))
    if tid % 32 == 0:
        slots[tid // 32] = total
    cuda.syncthreads()  # published before, consumed after
    if tid == 0:
        for warp in range(1, cuda.blockDim.x // 32):
            total += slots[warp]
        partial[cuda.blockIdx.x] = total


@FAMILY.kernel(
    partial_sums,
    against="publish",
    falls=("barriers",),
    stays=("shared_load_requests", "shared_store_requests", "warp_synchronisations"),
    hazard="race_shared",
    produces="a partial sum per block",
)
@cuda.jit
def publish_without_barrier(x, partial):
    """WRONG, a race: thread 0 may consume before the other warps have published.

    Versus: publish: the barrier is left out.
    Expect: no barrier is left, and the check reports race_shared.

    Args:
        x: int32 (n,).
        partial: int32 (blocks,), gets the sum of each block, by luck.
    """
    slots = cuda.shared.array(32, x.dtype)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    total = warp_sum(x[i] if i < x.size else x.dtype.type(0))
    if tid % 32 == 0:
        slots[tid // 32] = total
    if tid == 0:
        for warp in range(1, cuda.blockDim.x // 32):
            total += slots[warp]
        partial[cuda.blockIdx.x] = total
