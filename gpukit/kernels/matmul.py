"""Matrix product C = A B: a thread per element, neighbours in a column and in a row, then tiles in shared memory.

Every element of A is needed by all columns of C and every element of B by all rows. The kernels differ in how often
they fetch it from global memory: once per element of C, or once per tile. A is rows x inner, B inner x columns and C
rows x columns, all float32 in row-major order and of any size: a tile that sticks out is filled up with zeros.

`block` is the number of threads: 256 are (32, 8), 1,024 are (32, 32). The tiled kernels have a thread per element of
their tile, so their own blocks are (16, 16) and (32, 32) whatever `block` says.

Source: CUDA C++ Programming Guide, "Shared Memory": the product in tiles, which there asks for whole tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.errors import GpukitError
from gpukit.inputs import random_floats, random_integers
from gpukit.registry import Array, Family, Launch, Plan, PlanOf, Problem, launchable

WARP = 32
PRODUCES = "the product"


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """A and B float32. "whole numbers": A is n x (2n/3 + 1), B that x (n/2 + 1), from -3 to 3: the product is exact.
    "random": both n x n, in [0, 1).

    Raises GpukitError for an n that is so large that sums of whole numbers may not be exact.
    """
    if n > 1 << 20:
        raise GpukitError(f"a product of matrices with {n:,} rows may not be exact in float32; choose at most 2^20")
    if kind == "random":
        inner = n
        a, b = (random_floats(n * n, rng, device).reshape(n, n) for _ in range(2))
    else:
        inner, columns = 2 * n // 3 + 1, n // 2 + 1
        shapes = (n, inner), (inner, columns)
        a, b = ((random_integers(k * m, 7, rng, device).reshape(k, m) - 3).astype(np.float32) for k, m in shapes)
    expected = device.to_host(a.astype(np.float64) @ b.astype(np.float64))
    # Each of the `inner` products and sums rounds to a relative 2^-24, in whatever order; no term is negative.
    bound = (inner + 1) * 2.0**-24 * expected if kind == "random" else 0.0
    return Problem(n, kind, {"a": a, "b": b}, expected, bound)


FAMILY = Family(
    __name__,
    problem,
    kinds=("whole numbers", "random"),
    lengths=(1, 15, 16, 17, 31, 33, 50, 64),
    blocks=(32, 256, 1024),
    counters=(
        "global_load_requests",
        "global_load_sectors",
        "load_sectors_per_request",
        "global_store_sectors",
        "shared_load_requests",
        "barriers",
    ),
    cpu_n=128,
    gpu_n=4096,
    size="rows of a square matrix",
)


# --- plans -----------------------------------------------------------------------------------------------------------


def plan_of(kernel: Any, problem: Problem, grid: tuple[int, int], block: tuple[int, int], device: Device) -> Plan:
    """A launch that leaves C."""
    a, b = problem.arrays["a"], problem.arrays["b"]
    c = device.xp.empty((a.shape[0], b.shape[1]), a.dtype)
    made, args = launchable(kernel, (a, b, c), *a.shape, b.shape[1])
    return Plan(
        answer=lambda: device.to_host(c),
        launches=(Launch(made, grid, block, args),),
        outputs=(c,),
        bytes_moved=a.nbytes + b.nbytes + c.nbytes,
        flops=2 * a.size * b.shape[1],
    )


def shape_of_block(block: int) -> tuple[int, int]:
    """Threads along x and y for `block` threads: a warp along x. Raises GpukitError for a part of a warp."""
    if block < WARP or block % WARP or block > 1024:
        raise GpukitError(f"a matrix product takes blocks of whole warps, 32 to 1,024 threads, not {block}")
    return WARP, block // WARP


def rows_along_x(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One thread per element of C; neighbouring threads take neighbouring rows."""
    width, height = shape_of_block(block)
    rows, columns = problem.expected.shape
    return plan_of(kernel, problem, (-(-rows // width), -(-columns // height)), (width, height), device)


def columns_along_x(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One thread per element of C; neighbouring threads take neighbouring columns."""
    width, height = shape_of_block(block)
    rows, columns = problem.expected.shape
    return plan_of(kernel, problem, (-(-columns // width), -(-rows // height)), (width, height), device)


def tile_per_block(side: int) -> PlanOf:
    """The plan of a kernel whose blocks are side x side threads, each with a tile of C."""

    def plan(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
        rows, columns = problem.expected.shape
        return plan_of(kernel, problem, (-(-columns // side), -(-rows // side)), (side, side), device)

    return plan


# --- the ladder ------------------------------------------------------------------------------------------------------


@FAMILY.kernel(rows_along_x, produces=PRODUCES)
@cuda.jit
def uncoalesced(a, b, c):
    """A thread per element, and x of the grid goes down the rows: the lanes of a warp are a whole row apart.

    Expect: a warp's load of A touches 32 sectors and its load of B one, which all lanes share: 16.5 sectors a request.

    Args:
        a: float32 (rows, inner). Not changed.
        b: float32 (inner, columns). Not changed.
        c: float32 (rows, columns), the product.
    """
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = a.dtype.type(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@FAMILY.kernel(
    columns_along_x,
    against="uncoalesced",
    falls=("global_load_sectors", "global_store_sectors"),
    stays=("global_load_requests", "global_store_requests"),
    produces=PRODUCES,
)
@cuda.jit
def coalesced(a, b, c):
    """A thread per element, and x of the grid goes along the columns: lanes are neighbours in B and C.

    Versus: uncoalesced: row and column change places in one line.
    Expect: load sectors fall from 33 for each k and warp to 5: 1 of A, which all lanes share, and 4 of B. Store sectors
        fall 8 times.

    Args:
        a: float32 (rows, inner). Not changed.
        b: float32 (inner, columns). Not changed.
        c: float32 (rows, columns), the product.
    """
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = a.dtype.type(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@FAMILY.kernel(
    tile_per_block(16),
    against="coalesced",
    falls=("global_load_requests", "global_load_sectors"),
    rises=("shared_load_requests", "barriers"),
    produces=PRODUCES,
)
@cuda.jit
def tiled_16(a, b, c):
    """Tiles of 16 x 16 in shared memory: every element that is loaded serves 16 threads.

    Versus: coalesced: a block loads tiles of A and B once and multiplies from there, between two barriers.
    Expect: global load requests fall 16 times, to 2 a warp for 16 rounds of k. Shared loads take their place: 32 for
        the same rounds as written, 20 once compiled, because four neighbours of tile_a come in one load of 16 bytes.

    Args:
        a: float32 (rows, inner). Not changed.
        b: float32 (inner, columns). Not changed.
        c: float32 (rows, columns), the product.
    """
    tile_a = cuda.shared.array((16, 16), a.dtype)
    tile_b = cuda.shared.array((16, 16), b.dtype)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    zero = a.dtype.type(0)
    total = zero
    for start in range(0, a.shape[1], 16):  # the last round may be a part of a tile: it counts too
        tile_a[ty, tx] = a[row, start + tx] if row < c.shape[0] and start + tx < a.shape[1] else zero
        tile_b[ty, tx] = b[start + ty, column] if start + ty < a.shape[1] and column < c.shape[1] else zero
        cuda.syncthreads()  # both tiles are full before anyone multiplies
        for k in range(16):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()  # all are done before the next round overwrites them
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@FAMILY.kernel(
    tile_per_block(32),
    against="tiled_16",
    falls=("global_load_requests", "global_load_sectors"),
    stays=("shared_load_requests", "global_store_sectors"),
    produces=PRODUCES,
)
@cuda.jit
def tiled_32(a, b, c):
    """Tiles of 32 x 32: every element that is loaded serves 32 threads.

    Versus: tiled_16: the side of the tile, and with it 1,024 threads a block in place of 256.
    Expect: global load requests and sectors fall by half. Shared loads stay, compiled (20 for 16 rounds) or not (32).

    Args:
        a: float32 (rows, inner). Not changed.
        b: float32 (inner, columns). Not changed.
        c: float32 (rows, columns), the product.
    """
    tile_a = cuda.shared.array((32, 32), a.dtype)
    tile_b = cuda.shared.array((32, 32), b.dtype)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    zero = a.dtype.type(0)
    total = zero
    for start in range(0, a.shape[1], 32):  # the last round may be a part of a tile: it counts too
        tile_a[ty, tx] = a[row, start + tx] if row < c.shape[0] and start + tx < a.shape[1] else zero
        tile_b[ty, tx] = b[start + ty, column] if start + ty < a.shape[1] and column < c.shape[1] else zero
        cuda.syncthreads()  # both tiles are full before anyone multiplies
        for k in range(32):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()  # all are done before the next round overwrites them
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


FAMILY.cpp(
    "tiled_16",
    tile_per_block(16),
    against="coalesced",
    falls=("global_load_requests", "global_load_sectors"),
    rises=("shared_load_requests", "barriers"),
    produces=PRODUCES,
)
FAMILY.cpp(
    "tiled_32",
    tile_per_block(32),
    against="cpp:tiled_16",
    falls=("global_load_requests", "global_load_sectors"),
    stays=("shared_load_requests", "global_store_sectors"),
    produces=PRODUCES,
)


def by_library(function: Any, problem: Problem, block: int, device: Device) -> Plan:
    """The array library's own."""
    a, b = problem.arrays["a"], problem.arrays["b"]
    c = device.xp.empty((a.shape[0], b.shape[1]), a.dtype)
    return Plan(
        answer=lambda: device.to_host(c),
        call=lambda: function(device.xp, a, b, c),
        outputs=(c,),
        bytes_moved=a.nbytes + b.nbytes + c.nbytes,
        flops=2 * a.size * b.shape[1],
        clock="device",
    )


@FAMILY.host(by_library, produces=PRODUCES)
def library(xp: Any, a: Array, b: Array, c: Array) -> None:
    """The library to beat: BLAS through NumPy on a CPU, cuBLAS through CuPy on a GPU."""
    xp.matmul(a, b, out=c)
