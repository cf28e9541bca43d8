"""The matrix product: exact counts of every kernel, any shape, and mistakes of textbooks, which must be found."""

import numpy as np
import pytest
from family_runs import CPU, LEVELS, counters, report

import gpukit
from gpukit import checking, cuda, registry
from gpukit.errors import GpukitError
from gpukit.kernels import matmul
from gpukit.registry import Rung

N = 64  # rows of each matrix
WARPS = N * N // 32
NUMBA = ("uncoalesced", "coalesced", "tiled_16", "tiled_32")
AT = [pytest.param(key, level, id=f"{key}-{level}") for key in NUMBA for level in LEVELS]
AT += [pytest.param(f"cpp:{key}", None) for key in ("tiled_16", "tiled_32") if len(LEVELS) > 1]


@pytest.mark.parametrize(("key", "level"), [at for at in AT if "tiled" not in at.values[0]])
def test_exact_counts_of_a_thread_per_element(key, level):
    found = counters(registry.find_family("matmul"), key, level, N, 256)
    for_each_k, to_store = {"uncoalesced": (32 + 1, 32), "coalesced": (1 + 4, 4)}[key]
    assert found["global_load_requests"] == 2 * N * WARPS
    assert found["global_load_sectors"] == for_each_k * N * WARPS
    assert found["global_store_requests"] == WARPS
    assert found["global_store_sectors"] == to_store * WARPS


@pytest.mark.parametrize(("key", "level"), [at for at in AT if "tiled" in at.values[0]])
def test_exact_counts_of_tiles(key, level):
    side = int(key[-2:])
    found = counters(registry.find_family("matmul"), key, level, N, 256)
    rounds = N // side
    assert found["global_load_requests"] == 2 * rounds * WARPS
    assert found["global_load_sectors"] == 4 * 2 * rounds * WARPS
    assert found["barriers"] == 2 * rounds * rounds**2
    of_a = N if level == "source" else N // 4  # compiled, four neighbours of tile_a come in one load of 16 bytes
    assert found["shared_load_requests"] == (of_a + N) * WARPS
    assert found["shared_store_requests"] == 2 * rounds * WARPS
    assert found["shared_load_bank_conflicts"] == found["shared_store_bank_conflicts"] == 0


@pytest.mark.parametrize("n", [1, 17, 37])
@pytest.mark.parametrize(("key", "level"), AT)
def test_any_shape(key, level, n):
    report(registry.find_family("matmul"), key, level, n, 256, "whole numbers")  # checks the answer


@pytest.mark.parametrize("block", [0, 48, 2048])
def test_a_block_without_whole_warps_is_refused(block):
    family = registry.find_family("matmul")
    problem = family.problem(8, "random", np.random.default_rng(0), CPU)
    with pytest.raises(GpukitError, match=f"32 to 1,024 threads, not {block}"):
        family.rungs["coalesced"].plan(problem, block, CPU)


def test_a_product_that_may_not_be_exact_is_refused():
    with pytest.raises(GpukitError, match="at most 2"):
        matmul.problem((1 << 20) + 1, "whole numbers", np.random.default_rng(0), CPU)


# --- known to be wrong -----------------------------------------------------------------------------------------------


@cuda.jit
def drops_the_remainder(a, b, c):
    """As in many textbooks: `inner // 16` rounds, so that what is left over of a tile is never added."""
    tile_a = cuda.shared.array((16, 16), a.dtype)
    tile_b = cuda.shared.array((16, 16), b.dtype)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
    total = np.float32(0)
    for tile in range(a.shape[1] // 16):
        tile_a[ty, tx] = a[row, tile * 16 + tx]
        tile_b[ty, tx] = b[tile * 16 + ty, column]
        cuda.syncthreads()
        for k in range(16):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[row, column] = total


def textbook(n):
    """What the check says of it; `inner` and columns are n as well."""
    rung = Rung("matmul", "drops_the_remainder", registry.NUMBA, matmul.tile_per_block(16), "", drops_the_remainder)
    problem = matmul.problem(n, "random", np.random.default_rng(0), CPU)
    return checking.check_case(rung, problem, 256, CPU)


def test_the_textbook_version_is_right_for_multiples_of_its_tile_and_wrong_elsewhere():
    assert textbook(16) is None and textbook(48) is None
    for n in (17, 50):
        failure = textbook(n)
        assert failure is not None and failure.n == n
        assert failure.where == (0, 0) and failure.got < failure.expected and failure.wrong == n * n
    assert textbook(1).got == 0


def test_the_textbook_version_is_wrong_by_what_it_leaves_out():
    a, b = np.ones((16, 20), np.float32), np.ones((20, 16), np.float32)
    c = np.zeros((16, 16), np.float32)
    gpukit.launch(drops_the_remainder, (1, 1), (16, 16), a, b, c, machine="cpu")
    assert (c == 16).all()  # of 20


def test_its_barriers_miss_the_threads_that_have_returned():
    problem = matmul.problem(50, "random", np.random.default_rng(0), CPU)
    (launch,) = matmul.tile_per_block(16)(drops_the_remainder, problem, 256, CPU).launches
    report = gpukit.check(launch.kernel, launch.grid, launch.block, *launch.args, raise_=False)
    assert "barrier_with_exited_threads" in {hazard.kind for hazard in report.hazards}


@cuda.jit
def without_the_first_barrier(a, b, c):
    tile_a = cuda.shared.array((16, 16), a.dtype)
    tile_b = cuda.shared.array((16, 16), b.dtype)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, a.shape[1], 16):
        tile_a[ty, tx] = a[row, start + tx]
        tile_b[ty, tx] = b[start + ty, column]
        for k in range(16):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def without_the_second_barrier(a, b, c):
    tile_a = cuda.shared.array((16, 16), a.dtype)
    tile_b = cuda.shared.array((16, 16), b.dtype)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, a.shape[1], 16):
        tile_a[ty, tx] = a[row, start + tx]
        tile_b[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(16):
            total += tile_a[ty, k] * tile_b[k, tx]
    c[row, column] = total


@pytest.mark.parametrize("kernel", [without_the_first_barrier, without_the_second_barrier])
def test_both_barriers_are_needed(kernel):
    problem = matmul.problem(32, "random", np.random.default_rng(0), CPU)
    (launch,) = matmul.tile_per_block(16)(kernel, problem, 256, CPU).launches
    report = gpukit.check(kernel, launch.grid, launch.block, *launch.args, raise_=False)
    assert {hazard.kind for hazard in report.errors} == {"race_shared"}


def test_the_second_barrier_is_not_needed_for_a_single_tile():
    problem = matmul.problem(16, "random", np.random.default_rng(0), CPU)
    (launch,) = matmul.tile_per_block(16)(without_the_second_barrier, problem, 256, CPU).launches
    gpukit.check(launch.kernel, launch.grid, launch.block, *launch.args)
