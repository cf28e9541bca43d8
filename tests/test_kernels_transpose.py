"""The transpose: sectors of every request, conflicts of every tile, any shape, and mistakes that must be found."""

import numpy as np
import pytest
from family_runs import CPU, LEVELS, counters, report

import gpukit
from gpukit import checking, cuda, registry
from gpukit.errors import GpukitError
from gpukit.kernels import transpose
from gpukit.registry import Rung

SIDE = 128  # rows and columns
REQUESTS = SIDE * SIDE // 32  # of a warp each, on either side
TILES = (SIDE // 32) ** 2
NUMBA = ("copy", "strided_writes", "strided_reads", "tiled", "padded")
AT = [pytest.param(key, level, id=f"{key}-{level}") for key in NUMBA for level in LEVELS]
AT += [pytest.param(f"cpp:{key}", None) for key in ("tiled", "padded") if len(LEVELS) > 1]
SECTORS = {"strided_writes": (4, 32), "strided_reads": (32, 4)}


@pytest.mark.parametrize("block", [256, 1024])
@pytest.mark.parametrize(("key", "level"), AT)
def test_exact_counts(key, level, block):
    found = counters(registry.find_family("transpose"), key, level, SIDE, block)
    loads, stores = SECTORS.get(key, (4, 4))
    assert found["global_load_requests"] == found["global_store_requests"] == REQUESTS
    assert found["global_load_sectors"] == loads * REQUESTS
    assert found["global_store_sectors"] == stores * REQUESTS
    through = REQUESTS if key.endswith(("tiled", "padded")) else 0
    assert found["shared_load_requests"] == found["shared_store_requests"] == through
    assert found["shared_load_bank_conflicts"] == (31 * REQUESTS if key.endswith("tiled") else 0)
    assert found["shared_store_bank_conflicts"] == 0
    assert found["barriers"] == (TILES if through else 0)


@pytest.mark.parametrize("kind", ["wide", "tall"])
@pytest.mark.parametrize(("key", "level"), AT)
def test_rows_and_columns_that_are_no_multiple_of_the_tile(key, level, kind):
    report(registry.find_family("transpose"), key, level, 37, 256, kind)  # checks the answer


@pytest.mark.parametrize("block", [0, 16, 48, 96, 2048])
def test_a_block_that_cannot_share_out_a_tile_is_refused(block):
    family = registry.find_family("transpose")
    problem = family.problem(8, "square", np.random.default_rng(0), CPU)
    with pytest.raises(GpukitError, match=f"blocks of 32, 64, 128, 256, 512 or 1024 threads, not {block}"):
        family.rungs["tiled"].plan(problem, block, CPU)


def test_every_element_is_told_from_its_neighbours_past_two_to_the_24():
    problem = transpose.problem(4097, "square", np.random.default_rng(0), CPU)  # 4,097^2 > 2^24
    x = problem.arrays["x"].ravel()
    assert x.max() == 2**24 - 1 and (np.diff(x) != 0).all()


@cuda.jit
def without_barrier(x, y):
    tile = cuda.shared.array((32, 33), x.dtype)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for k in range(ty, 32, cuda.blockDim.y):
        if top + k < x.shape[0] and left + tx < x.shape[1]:
            tile[k, tx] = x[top + k, left + tx]
    for k in range(ty, 32, cuda.blockDim.y):
        if top + tx < x.shape[0] and left + k < x.shape[1]:
            y[left + k, top + tx] = tile[tx, k]


@cuda.jit
def without_guard(x, y):
    column, row = cuda.grid(2)
    y[column, row] = x[row, column]


@cuda.jit
def block_not_turned(x, y):
    tile = cuda.shared.array((32, 33), x.dtype)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for k in range(ty, 32, cuda.blockDim.y):
        if top + k < x.shape[0] and left + tx < x.shape[1]:
            tile[k, tx] = x[top + k, left + tx]
    cuda.syncthreads()
    for k in range(ty, 32, cuda.blockDim.y):  # the mistake: tiles are turned, but stay where they were
        if top + k < y.shape[0] and left + tx < y.shape[1] and left + tx < x.shape[0] and top + k < x.shape[1]:
            y[top + k, left + tx] = tile[tx, k]


@pytest.mark.parametrize(
    ("kernel", "plan", "kind"),
    [
        (without_barrier, transpose.tile_per_block, "race_shared"),
        (without_guard, transpose.element_per_thread, "oob_global_read"),
    ],
)
def test_the_check_finds_the_mistake(kernel, plan, kind):
    problem = transpose.problem(65, "square", np.random.default_rng(0), CPU)
    (launch,) = plan(kernel, problem, 256, CPU).launches
    report = gpukit.check(kernel, launch.grid, launch.block, *launch.args, raise_=False)
    assert kind in {hazard.kind for hazard in report.errors}


def test_a_wrong_answer_is_told_with_its_place():
    rung = Rung("transpose", "block_not_turned", registry.NUMBA, transpose.tile_per_block, "", block_not_turned)
    problem = transpose.problem(64, "square", np.random.default_rng(0), CPU)
    failure = checking.check_case(rung, problem, 256, CPU)
    assert failure is not None and failure.where == (0, 32) and failure.wrong == 2 * 32 * 32
