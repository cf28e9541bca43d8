"""Bank conflicts: the same reads of shared memory with the lanes of a warp 1, 2, 4, ... 33 words apart.

Shared memory has 32 banks, each 4 bytes wide; word w is in bank w % 32. In one pass, a *wavefront*, each bank gives one
word to whoever wants it. Lanes that want different words of one bank are served one after the other: n of them are an
n-way conflict, and the request takes n wavefronts. Lanes that want the same word share it (a broadcast).

Every warp puts its 32 elements into shared memory, `stride` words apart, and every lane adds all of them up: 1 store
and 32 loads a warp. In round k lane l reads element (l + k) % 32, so that the 32 lanes read 32 different elements.
Blocks have up to 256 threads; with a stride of 33 their tile takes 33,792 bytes.

Source: CUDA C++ Best Practices Guide, "Shared Memory and Memory Banks".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.inputs import random_integers
from gpukit.registry import Family, Launch, Plan, PlanOf, Problem

WARP = 32
PRODUCES = "the sum of its warp at every element"


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """`x` float32 (n,): ones, or whole numbers from 0 to 999; every sum of 32 is exact.

    The right answer at element i is the sum of the elements of its warp, those from i // 32 * 32 on.
    """
    xp = device.xp
    x = xp.ones(n, np.float32) if kind == "ones" else random_integers(n, 1000, rng, device).astype(np.float32)
    padded = xp.zeros(-(-n // WARP) * WARP, np.float32)
    padded[:n] = x
    sums = padded.reshape(-1, WARP).sum(1, dtype=np.float64).astype(np.float32)
    return Problem(n, kind, {"x": x}, device.to_host(xp.repeat(sums, WARP)[:n]))


FAMILY = Family(
    __name__,
    problem,
    kinds=("ones", "whole numbers"),
    lengths=(0, 1, 31, 32, 33, 255, 257, 1000),
    blocks=(32, 64, 128, 256),
    counters=(
        "shared_load_requests",
        "shared_load_wavefronts",
        "shared_load_bank_conflicts",
        "shared_store_requests",
        "shared_store_wavefronts",
        "shared_store_bank_conflicts",
    ),
    cpu_n=1 << 14,
    gpu_n=1 << 26,
)


def apart(stride: int, width: int = 4) -> PlanOf:
    """The plan of a kernel whose lanes are `stride` places of `width` bytes apart."""

    def plan(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
        x = problem.arrays["x"]
        y = device.xp.empty_like(x)
        blocks = max(1, -(-problem.n // block))
        return Plan(
            answer=lambda: device.to_host(y),
            launches=(Launch(kernel, blocks, block, (x, y), shared_bytes=block * stride * width),),
            outputs=(y,),
            bytes_moved=x.nbytes + y.nbytes,
            flops=32 * problem.n,
        )

    return plan


@cuda.jit(device=True)
def sum_of_warp(x, y, tile, stride):
    """y[i] = the sum of the elements of i's warp, which lie `stride` apart in the tile."""
    i = cuda.grid(1)
    lane = cuda.threadIdx.x % 32
    first = (cuda.threadIdx.x - lane) * stride  # the warp's own part of the tile
    tile[first + lane * stride] = x[i] if i < x.size else x.dtype.type(0)
    cuda.syncwarp()  # a warp reads only what it wrote itself, so it need not wait for the block
    total = x.dtype.type(0)
    for k in range(32):
        total += x.dtype.type(tile[first + (lane + k) % 32 * stride])
    if i < x.size:
        y[i] = total


# --- words of 4 bytes ------------------------------------------------------------------------------------------------


@FAMILY.kernel(apart(1), produces=PRODUCES)
@cuda.jit
def stride_1(x, y):
    """Neighbouring lanes read neighbouring words: every bank has one word to give.

    Expect: 1 wavefront a request, no conflict: 32 loads and 32 wavefronts a warp.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    sum_of_warp(x, y, cuda.shared.array(0, x.dtype), 1)


CONFLICTS = ("shared_load_bank_conflicts", "shared_store_bank_conflicts")
REQUESTS = ("shared_load_requests", "shared_store_requests")


@FAMILY.kernel(apart(2), against="stride_1", rises=CONFLICTS, stays=REQUESTS, produces=PRODUCES)
@cuda.jit
def stride_2(x, y):
    """Every second word: lanes 0 and 16 meet in a bank, a 2-way conflict.

    Versus: stride_1: the words lie 2 apart, in the 16 even banks.
    Expect: 2 wavefronts a request: 64 a warp for the 32 loads, 32 of them conflicts.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    sum_of_warp(x, y, cuda.shared.array(0, x.dtype), 2)


@FAMILY.kernel(apart(4), against="stride_2", rises=CONFLICTS, stays=REQUESTS, produces=PRODUCES)
@cuda.jit
def stride_4(x, y):
    """Every fourth word: a 4-way conflict.

    Versus: stride_2: the words lie 4 apart, in 8 banks.
    Expect: 4 wavefronts a request: 128 a warp for the 32 loads, 96 of them conflicts.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    sum_of_warp(x, y, cuda.shared.array(0, x.dtype), 4)


@FAMILY.kernel(apart(8), against="stride_4", rises=CONFLICTS, stays=REQUESTS, produces=PRODUCES)
@cuda.jit
def stride_8(x, y):
    """Every eighth word: an 8-way conflict.

    Versus: stride_4: the words lie 8 apart, in 4 banks.
    Expect: 8 wavefronts a request: 256 a warp for the 32 loads, 224 of them conflicts.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    sum_of_warp(x, y, cuda.shared.array(0, x.dtype), 8)


@FAMILY.kernel(apart(16), against="stride_8", rises=CONFLICTS, stays=REQUESTS, produces=PRODUCES)
@cuda.jit
def stride_16(x, y):
    """Every sixteenth word: a 16-way conflict.

    Versus: stride_8: the words lie 16 apart, in 2 banks.
    Expect: 16 wavefronts a request: 512 a warp for the 32 loads, 480 of them conflicts.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    sum_of_warp(x, y, cuda.shared.array(0, x.dtype), 16)


@FAMILY.kernel(apart(32), against="stride_16", rises=CONFLICTS, stays=REQUESTS, produces=PRODUCES)
@cuda.jit
def stride_32(x, y):
    """A column of a tile with rows of 32 words: all lanes in one bank, a 32-way conflict.

    Versus: stride_16: the words lie 32 apart, all in one bank.
    Expect: 32 wavefronts a request, the worst there is: 1,024 a warp for the 32 loads, 992 of them conflicts.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    sum_of_warp(x, y, cuda.shared.array(0, x.dtype), 32)


@FAMILY.kernel(apart(33), against="stride_32", falls=CONFLICTS, stays=REQUESTS, produces=PRODUCES)
@cuda.jit
def stride_33(x, y):
    """Padding: rows of 33 words, so that a column goes through all the banks.

    Versus: stride_32: one word more a row that nobody uses; lane l's word is in bank l again.
    Expect: conflicts fall to 0, for 3 % more shared memory. Any odd stride does it.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    sum_of_warp(x, y, cuda.shared.array(0, x.dtype), 33)


@FAMILY.kernel(
    apart(32),
    against="stride_32",
    falls=("shared_load_bank_conflicts",),
    stays=(*REQUESTS, "shared_store_bank_conflicts"),
    produces=PRODUCES,
)
@cuda.jit
def broadcast(x, y):
    """All lanes read one and the same word, which goes to all of them at once.

    Versus: stride_32: in round k every lane reads element k, wherever it lies; the store is as bad as it was.
    Expect: 1 wavefront a load, no conflict among loads. The one store of a warp still takes 32 wavefronts.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    tile = cuda.shared.array(0, x.dtype)
    i = cuda.grid(1)
    lane = cuda.threadIdx.x % 32
    first = (cuda.threadIdx.x - lane) * 32
    tile[first + lane * 32] = x[i] if i < x.size else x.dtype.type(0)
    cuda.syncwarp()
    total = x.dtype.type(0)
    for k in range(32):
        total += tile[first + k * 32]
    if i < x.size:
        y[i] = total


# --- elements of 8 bytes ---------------------------------------------------------------------------------------------


@FAMILY.kernel(
    apart(1, 8),
    against="stride_1",
    rises=("shared_load_wavefronts", "shared_store_wavefronts"),
    stays=(*REQUESTS, *CONFLICTS),
    produces=PRODUCES,
)
@cuda.jit
def doubles_1(x, y):
    """8 bytes a lane: a warp asks for 256 bytes, and 128 is what the banks give at a time.

    Versus: stride_1: the tile is float64.
    Expect: 2 wavefronts a request, one for each half of the warp. That is the least there is, so none is a conflict.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    sum_of_warp(x, y, cuda.shared.array(0, np.float64), 1)


@FAMILY.kernel(apart(16, 8), against="doubles_1", rises=CONFLICTS, stays=REQUESTS, produces=PRODUCES)
@cuda.jit
def doubles_16(x, y):
    """8-byte elements 16 apart, 128 bytes: each half of the warp meets in one pair of banks.

    Versus: doubles_1: the elements lie 16 apart.
    Expect: 32 wavefronts a request, 16 for each half of the warp; 30 of them are conflicts.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    sum_of_warp(x, y, cuda.shared.array(0, np.float64), 16)


@FAMILY.kernel(apart(17, 8), against="doubles_16", falls=CONFLICTS, stays=REQUESTS, produces=PRODUCES)
@cuda.jit
def doubles_17(x, y):
    """Padding cures 8-byte elements too.

    Versus: doubles_16: one element more a row.
    Expect: 2 wavefronts a request again, no conflict.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), the sum of each element's warp.
    """
    sum_of_warp(x, y, cuda.shared.array(0, np.float64), 17)
