"""Warp reduction: one sum per 32 elements, through shared memory, by shuffles, and by one instruction.

Warp w of the grid sums elements 32 w to 32 w + 31; lanes past the end bring a zero and take part like the others.

Source: J. Luitjens, "Faster Parallel Reductions on Kepler" (2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.registry import Family, Launch, Plan, Problem, launchable
from gpukit.warp import warp_sum, warp_sum_everywhere

PRODUCES = "a sum per warp"


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """`x` float32 (n,): ones, or whole numbers from -1000 to 999, so that sums of 32 are exact in float32."""
    x = np.ones(n, np.float32) if kind == "ones" else rng.integers(-1000, 1000, n).astype(np.float32)
    padded = np.zeros(-(-n // 32) * 32)
    padded[:n] = x
    return Problem(n, kind, {"x": device.xp.asarray(x)}, padded.reshape(-1, 32).sum(1))


FAMILY = Family(
    __name__,
    problem,
    kinds=("ones", "whole numbers"),
    lengths=(1, 31, 32, 33, 63, 65, 511, 513, 1000, 4095),
    blocks=(32, 64, 128, 256, 512, 1024),
    counters=("shared_load_requests", "shared_store_requests", "warp_synchronisations", "global_load_requests"),
    cpu_n=1 << 18,
    gpu_n=1 << 27,
)


def plan(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One thread per element; `out` float32, one per warp."""
    x = problem.arrays["x"]
    out = device.xp.empty(-(-problem.n // 32), np.float32)
    made, args = launchable(kernel, (x, out), problem.n)
    return Plan(
        answer=lambda: device.to_host(out),
        launches=(Launch(made, -(-problem.n // block), block, args),),
        outputs=(out,),
        bytes_moved=4 * problem.n + 4 * out.size,
        flops=problem.n,
    )


@FAMILY.kernel(plan, produces=PRODUCES)
@cuda.jit
def shared_tree(x, out):
    """A tree per warp in shared memory, with the order of its steps written down.

    Each step is a read, a wait of the warp, a write and a wait: reads and writes of different lanes must not meet.

    Args:
        x: float32 (n,). Not changed.
        out: float32 (ceil(n / 32),), the sum of each warp.
    """
    tile = cuda.shared.array(1024, x.dtype)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    lane = t % 32
    tile[t] = x[i] if i < x.size else x.dtype.type(0)
    cuda.syncwarp()
    stride = 16
    while stride > 0:
        other = tile[t + stride] if lane < stride else x.dtype.type(0)
        cuda.syncwarp()
        if lane < stride:
            tile[t] += other
        cuda.syncwarp()
        stride //= 2
    if lane == 0 and i < x.size:
        out[i // 32] = tile[t]


@FAMILY.kernel(
    plan,
    against="shared_tree",
    falls=("shared_load_requests", "shared_store_requests", "warp_synchronisations"),
    stays=("global_load_requests", "global_load_sectors"),
    produces=PRODUCES,
)
@cuda.jit
def shuffle_down(x, out):
    """Five shuffles hand values from register to register.

    Versus: shared_tree: the tree lives in registers; a shuffle is exchange and synchronisation in one.
    Expect: no shared memory at all, and 5 warp synchronisations per warp in place of 11.

    Args:
        x: float32 (n,). Not changed.
        out: float32 (ceil(n / 32),), the sum of each warp.
    """
    i = cuda.grid(1)
    total = warp_sum(x[i] if i < x.size else x.dtype.type(0))
    if i % 32 == 0 and i < x.size:
        out[i // 32] = total


@FAMILY.kernel(
    plan,
    against="shuffle_down",
    stays=("warp_synchronisations", "global_load_requests", "global_load_sectors", "global_store_requests"),
    produces="a sum per warp, in every lane",
)
@cuda.jit
def butterfly(x, out):
    """Five exchanges leave the sum in every lane, not in lane 0 alone.

    Versus: shuffle_down: shfl_xor: each lane trades with the one whose number differs in one bit.
    Expect: the same 5 exchanges and no other counter moved, yet every lane has the sum (here the last one stores it);
        after shuffle_down a sixth shuffle would have to broadcast it.

    Args:
        x: float32 (n,). Not changed.
        out: float32 (ceil(n / 32),), the sum of each warp.
    """
    i = cuda.grid(1)
    total = warp_sum_everywhere(x[i] if i < x.size else x.dtype.type(0))
    if i % 32 == 31 and i // 32 < out.size:
        out[i // 32] = total


FAMILY.cpp(
    "shuffle_down",
    plan,
    file="warp.cu",
    against="shared_tree",
    falls=("shared_load_requests", "shared_store_requests"),
    stays=("global_load_requests", "global_load_sectors"),
    produces=PRODUCES,
)
FAMILY.cpp(
    "one_instruction",
    plan,
    file="warp.cu",
    against="cpp:shuffle_down",
    falls=("warp_synchronisations",),
    stays=("global_load_requests", "global_load_sectors", "global_store_requests"),
    produces="a sum per warp, in every lane",
)
