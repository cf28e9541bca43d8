"""Shared memory: wavefronts and conflicts of every stride, barriers of block sums, and mistakes that must be found."""

import numpy as np
import pytest
from family_runs import LEVELS, counters, reports

import gpukit
from gpukit import cuda, registry
from gpukit.kernels import banks, barriers

N, BLOCK = 1024, 256
WARPS, BLOCKS = N // 32, N // BLOCK
SHARED = ("requests", "wavefronts", "bank_conflicts")


def of_warp(key, way, level):
    """(requests, wavefronts, conflicts) of shared loads or stores in one warp."""
    found = counters(registry.find_family("banks"), key, level, N, BLOCK)
    each = [divmod(found[f"shared_{way}_{name}"], WARPS) for name in SHARED]
    assert all(rest == 0 for _, rest in each)  # every warp does the same
    return tuple(count for count, _ in each)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("stride", "way"), [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1)])
def test_an_n_way_conflict_takes_n_wavefronts(stride, way, level):
    key = f"stride_{stride}"
    assert of_warp(key, "store", level) == (1, way, way - 1)
    assert of_warp(key, "load", level) == (32, 32 * way, 32 * (way - 1))


@pytest.mark.parametrize("level", LEVELS)
def test_a_broadcast_is_no_conflict(level):
    assert of_warp("broadcast", "store", level) == (1, 32, 31)
    assert of_warp("broadcast", "load", level) == (32, 32, 0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("key", "wavefronts"), [("doubles_1", 2), ("doubles_16", 32), ("doubles_17", 2)])
def test_eight_bytes_a_lane_take_two_wavefronts_at_least(key, wavefronts, level):
    assert of_warp(key, "store", level) == (1, wavefronts, wavefronts - 2)
    assert of_warp(key, "load", level) == (32, 32 * wavefronts, 32 * (wavefronts - 2))


@cuda.jit
def own_places_too_close(x, y):
    tile = cuda.shared.array(0, x.dtype)
    i = cuda.grid(1)
    lane = cuda.threadIdx.x % 32
    tile[lane] = x[i]  # the mistake: every warp uses the part of warp 0
    cuda.syncwarp()
    y[i] = tile[(lane + 1) % 32]


def test_warps_that_share_a_part_of_the_tile_race():
    x = np.ones(64, np.float32)
    report = gpukit.check(own_places_too_close, 1, 64, x, np.zeros_like(x), shared_bytes=256, raise_=False)
    assert {hazard.kind for hazard in report.errors} == {"race_shared"}


def test_a_tile_that_is_too_small_is_found():
    x = np.ones(64, np.float32)
    report = gpukit.check(banks.stride_2, 1, 64, x, np.zeros_like(x), shared_bytes=64 * 4, raise_=False)
    assert "oob_shared" in {hazard.kind for hazard in report.errors}


# --- barriers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("key", "expected"),
    [
        # A tree over 256: 8 steps. Steps of 128, 64, 32 .. 1 threads are 4, 2, 1 .. 1 warps, each reading two elements.
        ("block_sum", {"barriers": 9, "shared_load_requests": 2 * 12 + 1, "shared_store_requests": 8 + 12}),
        ("block_sum_without_barrier", {"barriers": 1, "shared_load_requests": 25, "shared_store_requests": 20}),
        ("barrier_in_branch", {"barriers": 9, "shared_load_requests": 25, "shared_store_requests": 20}),
        ("publish", {"barriers": 1, "shared_load_requests": 7, "shared_store_requests": 8}),
        ("publish_without_barrier", {"barriers": 0, "shared_load_requests": 7, "shared_store_requests": 8}),
    ],
)
def test_counts_of_a_block_of_256(key, expected, level):
    found = counters(registry.find_family("barriers"), key, level, N, BLOCK)
    assert {name: found[name] for name in expected} == {name: BLOCKS * count for name, count in expected.items()}


@pytest.mark.parametrize(("level", "words"), list(zip(LEVELS, (1, 2), strict=False)))
def test_shuffles_of_sums_of_int32_move_two_words_once_compiled(level, words):
    found = counters(registry.find_family("barriers"), "publish", level, N, BLOCK)
    assert found["warp_synchronisations"] == 5 * words * WARPS


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("key", "kinds", "line"),
    [
        ("block_sum", set(), ""),
        ("publish", set(), ""),
        ("block_sum_without_barrier", {"race_shared"}, "tile["),
        ("publish_without_barrier", {"race_shared"}, "slots["),
        ("barrier_in_branch", {"barrier_divergence"}, "cuda.syncthreads()"),
    ],
)
def test_the_mistake_is_found_where_it_is(key, kinds, line, level):
    # which also checks that the sum is right all the same
    (report,) = reports(registry.find_family("barriers"), key, level, N, BLOCK, hazards=True)
    assert {hazard.kind for hazard in report.errors} == kinds
    texts = {at.number: at.text for at in report.lines}
    assert all(line in texts[hazard.line] for hazard in report.errors)


def test_a_block_of_one_warp_has_no_race_to_publish():
    report = gpukit.check(barriers.publish_without_barrier, 1, 32, np.ones(32, np.int32), np.zeros(1, np.int32))
    assert not report.errors


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("family", ["banks", "barriers"])
@pytest.mark.parametrize(("n", "block"), [(1, 64), (333, 256)])
def test_blocks_and_warps_that_are_not_full(family, level, n, block):
    for key in registry.find_family(family).rungs:
        counters(registry.find_family(family), key, level, n, block)  # checks the answer
