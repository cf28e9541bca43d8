"""Matrix transpose: strided writes or reads, then a tile in shared memory that turns them, then the tile padded.

One side of a transpose goes along rows and the other along columns. A warp that reads a row must write a column, one
sector for each of its lanes, unless the turn happens where addresses may be far apart: in shared memory.

Matrices are any rows x columns, in row-major order. A block of T threads is 32 x T/32: 256 threads are (32, 8), 1,024
are (32, 32). `copy` is the ceiling: it moves the same bytes and turns nothing.

Source: G. Ruetsch and P. Micikevicius, "Optimizing Matrix Transpose in CUDA" (2009).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.errors import GpukitError
from gpukit.inputs import ramp
from gpukit.registry import Array, Family, Launch, Plan, Problem, launchable

TILE = 32  # elements along each side of a tile: one warp takes a row
PITCH = TILE + 1  # words from a row of the padded tile to the next; numba wants a name or a number, not a sum
PRODUCES = "the transpose"
WHOLE = 1 << 24  # whole numbers below it are exact in float32


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """`x` float32 (rows, columns), numbered through: "wide" n x (2n + 1), "tall" (2n + 1) x n, "square" n x n.

    Numbers start again at 0 after 2^24, so that all are exact.
    """
    rows, columns = {"wide": (n, 2 * n + 1), "tall": (2 * n + 1, n), "square": (n, n)}[kind]
    x = (ramp(rows * columns, device) % WHOLE).astype(np.float32).reshape(rows, columns)
    return Problem(n, kind, {"x": x}, device.to_host(x).T)


FAMILY = Family(
    __name__,
    problem,
    kinds=("wide", "tall", "square"),
    lengths=(1, 31, 32, 33, 65, 100),
    blocks=(32, 128, 256, 512, 1024),
    counters=(
        "load_sectors_per_request",
        "store_sectors_per_request",
        "global_load_sectors",
        "global_store_sectors",
        "shared_load_bank_conflicts",
        "barriers",
    ),
    cpu_n=512,
    gpu_n=8192,
    size="rows of a square matrix",
)


# --- plans -----------------------------------------------------------------------------------------------------------


def shape_of_block(block: int) -> tuple[int, int]:
    """Threads along x and y for `block` threads. Raises GpukitError where a tile cannot be shared out among them."""
    if block not in (32, 64, 128, 256, 512, 1024):
        raise GpukitError(f"a transpose takes blocks of 32, 64, 128, 256, 512 or 1024 threads, not {block}")
    return TILE, block // TILE


def _plan(launch: Launch, x: Array, y: Array, device: Device) -> Plan:
    return Plan(answer=lambda: device.to_host(y), launches=(launch,), outputs=(y,), bytes_moved=x.nbytes + y.nbytes)


def _thread_each(kernel: Any, x: Array, y: Array, of: Array, block: int) -> Launch:
    """A launch with one thread per element of the matrix `of`; a warp takes 32 neighbours in a row of it."""
    width, height = shape_of_block(block)
    rows, columns = of.shape
    return Launch(kernel, (-(-columns // width), -(-rows // height)), (width, height), (x, y))


def element_per_thread(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One thread per element of `x`; a warp takes 32 neighbours in a row."""
    x = problem.arrays["x"]
    y = device.xp.empty(x.shape[::-1], x.dtype)
    return _plan(_thread_each(kernel, x, y, of=x, block=block), x, y, device)


def element_of_transpose_per_thread(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One thread per element of `y`; a warp takes 32 neighbours in a row of it."""
    x = problem.arrays["x"]
    y = device.xp.empty(x.shape[::-1], x.dtype)
    return _plan(_thread_each(kernel, x, y, of=y, block=block), x, y, device)


def copy_per_thread(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """As `element_per_thread`, but `y` has the shape of `x`; the host turns it, so that the answers can be compared."""
    x = problem.arrays["x"]
    y = device.xp.empty_like(x)
    plan = _plan(_thread_each(kernel, x, y, of=x, block=block), x, y, device)
    return replace(plan, answer=lambda: device.to_host(y).T)


def tile_per_block(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One tile of 32 x 32 elements per block, 1,024 / T elements a thread."""
    x = problem.arrays["x"]
    rows, columns = x.shape
    y = device.xp.empty((columns, rows), x.dtype)
    made, args = launchable(kernel, (x, y), rows, columns)
    tiles = -(-columns // TILE), -(-rows // TILE)
    return _plan(Launch(made, tiles, shape_of_block(block), args), x, y, device)


# --- the ladder ------------------------------------------------------------------------------------------------------


@FAMILY.kernel(copy_per_thread, produces="a copy that is not turned: the ceiling")
@cuda.jit
def copy(x, y):
    """The ceiling: every warp reads a part of a row and writes it where it was.

    Expect: 4 sectors a request on both sides, 32 lanes x 4 bytes side by side.

    Args:
        x: float32 (rows, columns). Not changed.
        y: float32 (rows, columns), the same.
    """
    column, row = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        y[row, column] = x[row, column]


@FAMILY.kernel(
    element_per_thread,
    against="copy",
    rises=("global_store_sectors",),
    stays=("global_load_sectors", "global_load_requests", "global_store_requests"),
    produces=PRODUCES,
)
@cuda.jit
def strided_writes(x, y):
    """The transpose as one writes it first: a warp reads a row and writes a column.

    Versus: copy: the two indices of the store change places.
    Expect: store sectors rise 8 times, from 4 to 32 a request: each lane writes 4 bytes of a sector of its own.

    Args:
        x: float32 (rows, columns). Not changed.
        y: float32 (columns, rows), the transpose.
    """
    column, row = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        y[column, row] = x[row, column]


@FAMILY.kernel(
    element_of_transpose_per_thread,
    against="strided_writes",
    falls=("global_store_sectors",),
    rises=("global_load_sectors",),
    stays=("global_load_requests", "global_store_requests"),
    produces=PRODUCES,
)
@cuda.jit
def strided_reads(x, y):
    """The other way round: a warp reads a column and writes a row.

    Versus: strided_writes: x of the grid goes along the rows of the result.
    Expect: sectors change sides: 32 a load request, 4 a store request. Their sum stays. Which is slower? A read that
        was strided leaves the rest of its sectors in the cache for the warps that come next.

    Args:
        x: float32 (rows, columns). Not changed.
        y: float32 (columns, rows), the transpose.
    """
    column, row = cuda.grid(2)
    if row < y.shape[0] and column < y.shape[1]:
        y[row, column] = x[column, row]


@FAMILY.kernel(
    tile_per_block,
    against="strided_writes",
    falls=("global_store_sectors",),
    rises=("shared_load_bank_conflicts",),
    stays=("global_load_sectors", "global_load_requests", "global_store_requests"),
    produces=PRODUCES,
)
@cuda.jit
def tiled(x, y):
    """Rows come in and columns go out as rows: both sides of global memory are coalesced.

    Versus: strided_writes: the turn happens in a tile of shared memory, which a barrier divides into in and out.
    Expect: store sectors fall 8 times, to 4 a request as in the copy. A column of the tile is one bank: each of the
        shared loads takes 32 wavefronts, 31 of them conflicts.

    Args:
        x: float32 (rows, columns). Not changed.
        y: float32 (columns, rows), the transpose.
    """
    tile = cuda.shared.array((TILE, TILE), x.dtype)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    for k in range(ty, TILE, cuda.blockDim.y):
        if top + k < x.shape[0] and left + tx < x.shape[1]:
            tile[k, tx] = x[top + k, left + tx]
    cuda.syncthreads()  # a thread takes out what others put in
    for k in range(ty, TILE, cuda.blockDim.y):
        if top + tx < x.shape[0] and left + k < x.shape[1]:
            y[left + k, top + tx] = tile[tx, k]


@FAMILY.kernel(
    tile_per_block,
    against="tiled",
    falls=("shared_load_bank_conflicts",),
    stays=(
        *("global_load_sectors", "global_store_sectors", "global_load_requests", "global_store_requests"),
        *("shared_load_requests", "shared_store_requests", "barriers"),
    ),
    produces=PRODUCES,
)
@cuda.jit
def padded(x, y):
    """A tile with rows of 33 words: its columns go through all the banks.

    Versus: tiled: the tile is [32][33]; nobody uses the last column.
    Expect: bank conflicts fall to 0 and everything else stays.

    Args:
        x: float32 (rows, columns). Not changed.
        y: float32 (columns, rows), the transpose.
    """
    tile = cuda.shared.array((TILE, PITCH), x.dtype)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    for k in range(ty, TILE, cuda.blockDim.y):
        if top + k < x.shape[0] and left + tx < x.shape[1]:
            tile[k, tx] = x[top + k, left + tx]
    cuda.syncthreads()  # a thread takes out what others put in
    for k in range(ty, TILE, cuda.blockDim.y):
        if top + tx < x.shape[0] and left + k < x.shape[1]:
            y[left + k, top + tx] = tile[tx, k]


FAMILY.cpp(
    "tiled",
    tile_per_block,
    against="strided_writes",
    falls=("global_store_sectors",),
    rises=("shared_load_bank_conflicts",),
    stays=("global_load_sectors", "global_load_requests", "global_store_requests"),
    produces=PRODUCES,
)
FAMILY.cpp(
    "padded",
    tile_per_block,
    against="cpp:tiled",
    falls=("shared_load_bank_conflicts",),
    stays=("global_load_sectors", "global_store_sectors", "shared_load_requests", "shared_store_requests", "barriers"),
    produces=PRODUCES,
)


def by_library(function: Any, problem: Problem, block: int, device: Device) -> Plan:
    """The array library's own."""
    x = problem.arrays["x"]
    y = device.xp.empty((x.shape[1], x.shape[0]), x.dtype)
    return Plan(
        answer=lambda: device.to_host(y),
        call=lambda: function(x, y),
        outputs=(y,),
        bytes_moved=x.nbytes + y.nbytes,
        clock="device",
    )


@FAMILY.host(by_library, produces=PRODUCES)
def library(x: Array, y: Array) -> None:
    """The array library's transpose, copied into place: NumPy on a CPU, CuPy on a GPU."""
    y[...] = x.T
