"""The warp toolbox: exact counts of its rungs, its functions on every lane, and misuse that must be found."""

import numpy as np
import pytest
from family_runs import CPU, LEVELS, reports

import gpukit
from gpukit import cuda, registry, warp

N, BLOCK = 4096, 256
WARPS, BLOCKS = N // 32, N // BLOCK


def counters(family, key, level="source", launch=0):
    """The counters of one launch of a rung on N elements."""
    return reports(registry.find_family(family), key, level, N, BLOCK)[launch].counters


@pytest.mark.parametrize("level", LEVELS)
def test_a_tree_in_shared_memory_against_shuffles(level):
    tree = counters("warp_reduce", "shared_tree", level)
    # a load a step, and the lane's own element again; a store before and one a step; a wait before and two a step
    assert tree["shared_load_requests"] == WARPS * (5 + 5 + 1)
    assert tree["shared_store_requests"] == WARPS * (1 + 5)
    assert tree["warp_synchronisations"] == WARPS * (1 + 2 * 5)
    for key in ("shuffle_down", "butterfly"):
        shuffles = counters("warp_reduce", key, level)
        assert shuffles["shared_load_requests"] == shuffles["shared_store_requests"] == 0
        assert shuffles["warp_synchronisations"] == WARPS * 5
        assert shuffles["global_load_sectors"] == tree["global_load_sectors"] == WARPS * 4


@pytest.mark.skipif(len(LEVELS) == 1, reason="needs the compilers")
def test_one_instruction_in_place_of_five():
    assert counters("warp_reduce", "cpp:shuffle_down", None)["warp_synchronisations"] == WARPS * 5
    assert counters("warp_reduce", "cpp:one_instruction", None)["warp_synchronisations"] == WARPS


@pytest.mark.parametrize("level", LEVELS)
def test_a_scan_of_two_levels_needs_two_barriers(level):
    assert counters("warp_scan", "shared_steps", level)["barriers"] == BLOCKS * (1 + 2 * 8)
    two = counters("warp_scan", "two_levels", level)
    assert two["barriers"] == BLOCKS * 2
    # one store a warp and one by warp 0; one load by warp 0 and one by each of the other seven
    assert two["shared_store_requests"] == WARPS + BLOCKS
    assert two["shared_load_requests"] == BLOCKS * (1 + 7)


@pytest.mark.parametrize("level", LEVELS)
def test_one_atomic_a_warp(level):
    each, ballot = counters("warp_compaction", "atomic_each", level), counters("warp_compaction", "ballot", level)
    assert each["global_atomics"] == ballot["global_atomics"] == WARPS
    assert ballot["atomic_max_contention"] == 1 and ballot["global_atomic_sectors"] == WARPS
    if level == "source":  # lanes of one warp at one address, half of the elements being kept
        assert each["atomic_max_contention"] > 16 and each["global_atomic_sectors"] == np.count_nonzero(kept())
    else:  # the compiler lets one lane ask for its warp, as `ballot` does
        assert each["atomic_max_contention"] == 1 and each["global_atomic_sectors"] == WARPS
    assert counters("warp_compaction", "two_passes", level, launch=2)["global_atomics"] == 0


def kept():
    family = registry.find_family("warp_compaction")
    return family.problem(N, "half", np.random.default_rng(0), CPU).arrays["x"] > 0


@pytest.mark.parametrize("level", LEVELS)
def test_runs_of_a_warp_meet_their_segment_once(level):
    assert counters("warp_segmented", "atomic_each", level)["atomic_max_contention"] > 8
    assert counters("warp_segmented", "warp_runs", level)["atomic_max_contention"] == 1


# --- the functions ---------------------------------------------------------------------------------------------------


@cuda.jit
def every_function(x, head, out):
    i = cuda.grid(1)
    out[0, i] = warp.warp_sum(x[i])
    out[1, i] = warp.warp_sum_everywhere(x[i])
    out[2, i] = warp.warp_scan(x[i])
    out[3, i] = warp.segment_start(head[i])
    out[4, i] = warp.segmented_scan(x[i], head[i])
    place, many = warp.place_among(head[i])
    out[5, i] = place
    out[6, i] = many


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_the_functions_agree_with_numpy(dtype, level):
    rng = np.random.default_rng(1)
    x, head = rng.integers(-9, 10, 64).astype(dtype), rng.random(64) < 0.2
    out = np.full((7, 64), np.nan)
    gpukit.profile(every_function, 1, 64, x, head, out, level=level)
    for w in range(2):
        lanes = slice(32 * w, 32 * w + 32)
        values, heads = x[lanes], head[lanes]
        starts = np.maximum.accumulate(np.where(heads, np.arange(32), 0))
        assert out[0, lanes][0] == values.sum()
        assert (out[1, lanes] == values.sum()).all()
        assert (out[2, lanes] == np.cumsum(values)).all()
        assert (out[3, lanes] == starts).all()
        assert out[4, lanes].tolist() == [values[s : i + 1].sum() for i, s in enumerate(starts)]
        assert (out[5, lanes] == np.cumsum(heads) - heads).all() and (out[6, lanes] == heads.sum()).all()


def test_a_file_that_is_not_executed_may_call_them(tmp_path):
    file = tmp_path / "student.py"
    file.write_text(
        "from gpukit import cuda, warp\nfrom gpukit.warp import warp_scan\n\n@cuda.jit\ndef both(x, out):\n"
        "    i = cuda.grid(1)\n    out[i] = warp_scan(x[i]) + warp.warp_sum_everywhere(x[i])\n"
    )
    x = np.arange(32)
    for level in LEVELS:
        out = np.zeros(32, np.int64)
        gpukit.profile(gpukit.load(file)["both"], 1, 32, x, out, level=level)
        assert out.tolist() == (np.cumsum(x) + x.sum()).tolist()


@cuda.jit
def sum_of_a_part(x, out):
    i = cuda.grid(1)
    if i < x.size:  # the mistake: lanes past the end do not take part
        out[i] = warp.warp_sum(x[i])


def test_a_warp_that_is_not_whole_is_found():
    report = gpukit.check(sum_of_a_part, 1, 64, np.ones(40, np.int32), np.zeros(40, np.int64), raise_=False)
    assert {hazard.kind for hazard in report.errors} >= {"shuffle_mask_names_absent_lane"}
    assert any(hazard.file.endswith("warp.py") for hazard in report.errors)
