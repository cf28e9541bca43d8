"""Numbers of the deck on shared memory: the machine's counts, what its check says, and the H200's recordings."""

from __future__ import annotations

import re

import numpy as np

import gpukit
from gpukit import cuda, registry
from gpukit.devices import device
from gpukit.slides import Table, gpu

from . import common

TILE = 16
STATIC_BYTES = 48 * 1024  # of shared memory that a kernel may declare; more is asked for at the launch


@cuda.jit
def textbook_product(a, b, c):
    """C = A B as books write it: right when the size is a multiple of TILE, and quietly wrong when it is not."""
    tile_a = cuda.shared.array((TILE, TILE), a.dtype)
    tile_b = cuda.shared.array((TILE, TILE), b.dtype)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = a.dtype.type(0)
    inside = row < c.shape[0] and column < c.shape[1]
    for turn in range(a.shape[1] // TILE):
        start = turn * TILE
        tile_a[ty, tx] = a[row, start + tx] if row < c.shape[0] else 0
        tile_b[ty, tx] = b[start + ty, column] if column < c.shape[1] else 0
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if inside:
        c[row, column] = total


# --- in the text ----------------------------------------------------------------------------------------------------


def static_kib() -> int:
    return STATIC_BYTES // 1024


def h200_kib() -> int:
    """KiB of shared memory that one block may have on an H200."""
    return gpu("H200").shared_per_block_optin_bytes // 1024


def lost_ones() -> int:
    """How many ones the sum without its barrier lost on the H200."""
    return _number_of_ones("expected") - _number_of_ones("got")


def counted_ones() -> int:
    """What it counted instead."""
    return _number_of_ones("got")


def _number_of_ones(word: str) -> int:
    said = common.rung("barriers", "block_sum_without_barrier")["wrong_for_its_hazard"]
    return int(re.search(rf"{word} (\d+)", said)[1])


def barrier_in_branch() -> str:
    """The hazards that the check finds in `barriers.barrier_in_branch`."""
    return hazards("barriers", "barrier_in_branch")


def hazards(family: str, rung: str) -> str:
    """Kinds of the errors that the check finds in a rung."""
    found = registry.find_family(family)
    cpu = device("cpu")
    problem = found.problem(1024, found.kinds[0], np.random.default_rng(0), cpu)
    (launch,) = found.rungs[rung].plan(problem, 256, cpu).launches
    report = gpukit.check(launch.kernel, launch.grid, launch.block, *launch.args, raise_=False)
    return ", ".join(dict.fromkeys(hazard.kind for hazard in report.errors))


def wrong_elements() -> str:
    """What the textbook product makes of 50 x 50 ones: how many elements are wrong, and what they are."""
    n = 50
    ones, c = np.ones((n, n), np.float32), np.zeros((n, n), np.float32)
    blocks = -(-n // TILE)
    gpukit.launch(textbook_product, (blocks, blocks), (TILE, TILE), ones, ones, c)
    values = ", ".join(f"{value:.0f}" for value in np.unique(c))
    return f"{np.count_nonzero(c != n):,} of {c.size:,} elements are wrong, {values} where {n} is right"


# --- tables ---------------------------------------------------------------------------------------------------------


def strides() -> Table:
    """Wavefronts and time by stride of shared memory."""
    names = {f"stride {s}": f"stride_{s}" for s in (1, 2, 4, 8, 16, 32, 33)} | {"broadcast": "broadcast"}
    rows = []
    for shown, key in names.items():
        counters = common.counters("banks", key)
        per_request = counters["shared_load_wavefronts"] / counters["shared_load_requests"]
        time = common.millis(common.seconds("banks", key))
        rows.append([shown, f"{per_request:.0f}", f"{counters['shared_load_bank_conflicts']:,}", time])
    header = ["lanes read", "wavefronts per load", "bank conflicts", "time"]
    return Table(header, rows, numeric=[1, 2, 3], strong=[4, 5])


def products() -> Table:
    """The ladder of the matrix product."""
    found = common.rungs("matmul")
    names = {
        "uncoalesced": "thread per element, x down the rows",
        "coalesced": "x along the columns",
        "tiled_16": "tiles of 16 x 16",
        "tiled_32": "tiles of 32 x 32",
        "cpp:tiled_32": "tiles of 32 x 32, CUDA C++",
        "library": "cuBLAS",
    }
    rows = []
    for key, shown in names.items():
        requests = common.counters("matmul", key).get("global_load_requests")
        time = found[key]["timing"]["median_s"]
        speed = found[key]["flops"] / time / 1e12
        rows.append([shown, f"{requests:,}" if requests else "", f"{1e3 * time:.3g} ms", f"{speed:.1f}"])
    header = ["what changes", "global load requests", "time", "TFLOP/s"]
    return Table(header, rows, numeric=[1, 2, 3])
