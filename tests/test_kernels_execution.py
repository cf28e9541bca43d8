"""The family of launches: exact figures, what occupancy says where counters do not, and mistakes that must be found."""

import numpy as np
import pytest
from family_runs import CPU, at_levels, counters, each, made, needs_compiler, report

import gpukit
from gpukit import checking, cuda, inputs
from gpukit.kernels import execution
from gpukit.kernels.execution import FAMILY
from gpukit.registry import Plan

N = 1 << 20
WARPS = N // 32
KERNELS = [rung.key for rung in FAMILY.rungs.values() if rung.kernel is not None]
WHOLE_WARPS = [key for key in KERNELS if key != "one_thread_per_block"]


@pytest.mark.parametrize(("key", "level"), at_levels(*WHOLE_WARPS))
def test_two_loads_and_a_store_of_four_sectors_per_warp(key, level):
    found = counters(FAMILY, key, level)
    assert (found["global_load_requests"], found["global_load_sectors"]) == (2 * WARPS, 8 * WARPS)
    assert (found["global_store_requests"], found["global_store_sectors"]) == (WARPS, 4 * WARPS)
    assert found["divergent_branches"] == 0
    assert found["active_lanes_per_instruction"] == 32


@pytest.mark.parametrize(("key", "level"), at_levels("one_thread_per_block"))
def test_a_thread_per_block_asks_32_times_for_8_times_the_sectors(key, level):
    n = 1 << 12
    found, normal = counters(FAMILY, key, level, n), counters(FAMILY, "vector_add", level, n)
    assert found["active_lanes_per_instruction"] == 1
    for counter, times in (("global_load_requests", 32), ("global_load_sectors", 8), ("warp_instructions", 32)):
        assert found[counter] == times * normal[counter]


@pytest.mark.parametrize(("key", "level"), at_levels("vector_add", "cpp:vector_add"))
def test_whole_warps_cost_the_same_in_blocks_of_any_size(key, level):
    n = (1 << 14) + 3
    found = [counters(FAMILY, key, level, n, block) for block in FAMILY.blocks]
    same = ("global_load_requests", "global_load_sectors", "global_store_sectors", "divergent_branches")
    assert len({tuple(one[name] for name in same) for one in found}) == 1
    assert found[0]["divergent_branches"] == 1  # the three threads of the last warp that have work


def test_256_threads_are_8_warps_and_the_grid_is_a_ceiling():
    found = report(FAMILY, "vector_add", "source", 1000)
    assert (found.grid, found.block, found.warps) == ((4, 1, 1), (256, 1, 1), 32)
    assert execution.ceil_div(1000, 256) == 4
    assert execution.ceil_div(1024, 256) == 4
    assert execution.ceil_div(1025, 256) == 5


def test_occupancy_tells_what_no_counter_does():
    """Blocks of one warp: 32 blocks are all that an SM of an H200 takes, and 32 of its 64 warps."""
    full, thin = (report(FAMILY, key, "source", 1 << 14) for key in ("vector_add", "one_warp_per_block"))
    assert thin.counters == full.counters
    assert full.occupancy("H200").occupancy == 1
    assert thin.occupancy("H200").occupancy == 0.5
    assert thin.occupancy("H200").limited_by == ("blocks",)


@pytest.mark.parametrize(("key", "level"), at_levels("too_small_grid"))
def test_one_block_does_all_the_work_of_a_card(key, level):
    found, full = report(FAMILY, key, level), report(FAMILY, "grid_stride", level)
    assert (found.blocks, full.blocks) == (1, 8 * 132)
    assert found.counters["warp_instructions"] < full.counters["warp_instructions"]


@needs_compiler
def test_a_signed_index_is_unrolled_and_an_unsigned_one_is_not():
    """64 rounds a thread: one turn of the loop for four of them, or for each."""
    branches = {}
    for key in ("cpp:grid_stride", "cpp:grid_stride_unsigned"):
        rung, size = FAMILY.rungs[key], np.uint32 if key.endswith("unsigned") else np.int32
        plan = execution.cpp_addition(rung.kernel, made(FAMILY), CPU, 64, 256, size)
        (one,) = plan.launches
        branches[key] = gpukit.profile(one.kernel, one.grid, one.block, *one.args, hazards=False).counters["branches"]
    threads = 64 * 256 // 32
    assert branches["cpp:grid_stride_unsigned"] == threads * (N // 64 // 256 + 1)
    assert branches["cpp:grid_stride"] < branches["cpp:grid_stride_unsigned"] / 3


@needs_compiler
@pytest.mark.parametrize(
    ("index", "unrolled"), [("int", True), ("long long", True), ("unsigned", False), ("size_t", False)]
)
def test_which_index_types_are_unrolled(index, unrolled):
    source = f"""extern "C" __global__ void add(const float* a, const float* b, float* c, {index} n) {{
        {index} stride = ({index})gridDim.x * blockDim.x;
        for ({index} i = ({index})blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) c[i] = a[i] + b[i];
    }}"""
    kernel = gpukit.RawModule(code=source).get_function("add")
    a, c = np.ones(64 * 32, np.float32), np.zeros(64 * 32, np.float32)
    size = {"int": np.int32, "long long": np.int64, "unsigned": np.uint32, "size_t": np.uint64}[index]
    found = gpukit.profile(kernel, 1, 32, a, a, c, size(c.size), hazards=False).counters
    assert (c == 2).all()
    assert (found["branches"] < 64) == unrolled


@pytest.mark.parametrize("blocks", FAMILY.sweep.blocks)
@pytest.mark.parametrize("key", each(*FAMILY.sweep.rungs))
def test_every_grid_of_the_sweep_is_right(key, blocks):
    rung, problem = FAMILY.rungs[key], made(FAMILY, 5003, "ramp")
    plan = FAMILY.sweep.plan(rung.kernel, problem, 64, CPU, blocks)
    assert plan.launches[0].grid == blocks
    assert checking.compare(rung, problem, 64, checking.answer_of(plan, CPU)) is None


# --- what must be found ----------------------------------------------------------------------------------------------


@cuda.jit
def without_guard(a, b, c):
    i = cuda.grid(1)
    c[i] = a[i] + b[i]


@cuda.jit
def without_second_guard(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0]:
        c[row, column] = a[row, column] + b[row, column]


def test_a_missing_guard_is_found():
    a, c = np.ones(33, np.int32), np.zeros(33, np.int32)
    found = gpukit.check(without_guard, 2, 32, a, a, c, raise_=False)
    assert {hazard.kind for hazard in found.errors} == {"oob_global_read", "oob_global_write"}
    a, c = np.ones((4, 33), np.int32), np.zeros((4, 33), np.int32)
    found = gpukit.check(without_second_guard, (2, 1), (32, 4), a, a, c, raise_=False)
    assert {hazard.kind for hazard in found.errors} == {"oob_global_read", "oob_global_write"}


@pytest.mark.parametrize("kind", FAMILY.kinds)
def test_a_grid_that_was_rounded_down_is_found(kind):
    rung, problem = FAMILY.rungs["vector_add"], made(FAMILY, 513, kind)
    plan = execution.addition(rung.kernel, problem, CPU, 513 // 256, 256)
    failure = checking.compare(rung, problem, 256, checking.answer_of(plan, CPU))
    assert failure is not None
    assert (failure.where, failure.wrong) == ((512,), 1)


@pytest.mark.parametrize("kind", FAMILY.kinds)
def test_the_reference_leaves_no_room(kind):
    """A sum that is off by its last bit is wrong, whatever its type."""
    problem = made(FAMILY, 1000, kind)
    off = problem.expected.copy()
    off[-1:].view(np.int32)[0] ^= 1
    plan = Plan(answer=lambda: off, call=lambda: None)
    failure = checking.compare(FAMILY.rungs["vector_add"], problem, 256, checking.answer_of(plan, CPU))
    assert failure is not None
    assert failure.where == (999,)


# --- inputs ----------------------------------------------------------------------------------------------------------


class DrawsItself:
    """A device that makes its arrays as a GPU does, with NumPy in CuPy's place."""

    name, xp, sms = "gpu", np, 132


def test_a_gpu_draws_its_own_numbers_and_the_same_ones_each_time():
    for device in (CPU, DrawsItself()):
        floats = [inputs.random_floats(1000, np.random.default_rng(seed), device) for seed in (1, 1, 2)]
        assert floats[0].dtype == np.float32
        assert (floats[0] == floats[1]).all()
        assert (floats[0] != floats[2]).any()
        assert 0 <= floats[0].min() < 0.1 < 0.9 < floats[0].max() < 1
        integers = inputs.random_integers(1000, 10, np.random.default_rng(1), device)
        assert integers.dtype == np.int32
        assert set(integers.tolist()) == set(range(10))
