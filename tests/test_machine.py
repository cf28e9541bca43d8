"""The executor end to end: reconvergence, waiting, several memories, order of waves, bounds."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numba import float32, int32

import gpukit
from gpukit import cuda
from gpukit.machine import executor
from gpukit.machine.lanes import Geometry, LaneSet, Wave


@cuda.jit
def view_of_the_same_start(a, out):
    i = cuda.grid(1)
    half = a[: a.size // 2]
    whole = a[i]
    out[i] = whole
    out[i] = half[i]


def test_a_view_has_its_own_bounds():
    """Same base, same index, same stride as the array itself, but half as long."""
    report = gpukit.profile(view_of_the_same_start, 1, 8, np.arange(8), np.zeros(8, np.int64))
    assert [(h.kind, h.count) for h in report.hazards] == [("oob_global_read", 4)]


@cuda.jit
def continue_in_a_loop(x, out):
    i = cuda.grid(1)
    total = 0
    for k in range(8):
        if (i + k) % 2 == 0:
            continue
        total += x[k]
    out[i] = total


def test_lanes_that_continue_wait_at_the_latch():
    """Half the lanes skip each turn; they rejoin before the next, so every load is one request of 16 lanes."""
    out = np.zeros(32, np.int64)
    report = gpukit.profile(continue_in_a_loop, 1, 32, np.arange(8), out)
    assert out.tolist() == [16 if i % 2 == 0 else 12 for i in range(32)]
    assert report.counters["global_load_requests"] == 8
    assert report.counters["divergent_branches"] == 8


@cuda.jit
def chosen_array(a, b, out):
    i = cuda.grid(1)
    c = a if i % 2 == 0 else b
    out[i] = c[i]
    c[i] = -1


def test_lanes_of_one_access_may_go_to_several_arrays():
    a, b, out = np.arange(32), np.arange(100, 132), np.zeros(32, np.int64)
    report = gpukit.profile(chosen_array, 1, 32, a, b, out)
    assert out.tolist() == [i if i % 2 == 0 else 100 + i for i in range(32)]
    assert a.tolist() == [-1 if i % 2 == 0 else i for i in range(32)]
    assert b.tolist() == [100 + i if i % 2 == 0 else -1 for i in range(32)]
    assert report.counters["global_load_requests"] == 1
    assert not report.hazards


@cuda.jit
def shared_or_global(a, out):
    s = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    s[i] = 1000 + i
    cuda.syncthreads()
    c = s if i % 2 == 0 else a
    out[i] = c[i]


def test_lanes_of_one_access_may_go_to_shared_and_to_global_memory():
    out = np.zeros(64, np.int32)
    gpukit.profile(shared_or_global, 1, 64, np.arange(64, dtype=np.int32), out)
    assert out.tolist() == [1000 + i if i % 2 == 0 else i for i in range(64)]


@cuda.jit
def halves_shuffle_in_two_places(out):
    t = cuda.threadIdx.x
    if t < 16:  # noqa: SIM108 (two calls are the point)
        v = cuda.shfl_xor_sync(0xFFFFFFFF, t, 31)
    else:
        v = cuda.shfl_xor_sync(0xFFFFFFFF, int32(t + 100), 31)
    out[t] = v


def test_the_two_sides_of_a_branch_meet_in_a_shuffle():
    """Legal since Volta: all named lanes execute the same shuffle, at two places of the program."""
    out = np.zeros(32, np.int64)
    report = gpukit.profile(halves_shuffle_in_two_places, 1, 32, out)
    assert out.tolist() == [31 - t + 100 if t < 16 else 31 - t for t in range(32)]
    assert not report.hazards


@cuda.jit
def locked(lock, total):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    total[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


def test_a_spin_lock_makes_progress():
    total = np.zeros(1, np.int32)
    report = gpukit.profile(locked, 8, 64, np.zeros(1, np.int32), total)
    assert total[0] == 512
    assert not report.hazards


@cuda.jit
def waits_for_the_next_block(flag, out):
    if cuda.blockIdx.x == 0:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        out[0] = 1
    else:
        cuda.atomic.exch(flag, 0, 1)


def test_a_block_may_wait_for_a_later_one_that_is_resident():
    out = np.zeros(1, np.int32)
    gpukit.launch(waits_for_the_next_block, 2, 1, np.zeros(1, np.int32), out)
    assert out[0] == 1


def test_a_block_that_waits_for_one_that_never_comes_is_stopped():
    with pytest.raises(gpukit.KernelDeadlock, match=r"test_machine\.py:"):
        gpukit.launch(waits_for_the_next_block, 1, 1, np.zeros(1, np.int32), np.zeros(1, np.int32))


@cuda.jit
def block_sums(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@pytest.mark.parametrize("lanes", [128, 384, 1 << 16])
def test_results_counters_and_hazards_do_not_depend_on_the_size_of_a_wave(monkeypatch, lanes):
    x = np.random.default_rng(1).integers(0, 9, 2000).astype(np.float32)
    reports = []
    for size in (lanes, 1 << 14):
        monkeypatch.setattr(executor, "WAVE_LANES", size)
        out = np.zeros(16, np.float32)
        reports.append(gpukit.profile(block_sums, 16, 128, x, out))
        assert out.tolist() == np.pad(x, (0, 48)).reshape(16, 128).sum(1).tolist()
    assert reports[0].counters == reports[1].counters
    assert not reports[0].hazards and not reports[1].hazards


def test_two_runs_are_equal_to_the_last_counter():
    x = np.ones(2000, np.float32)
    first, second = (gpukit.profile(block_sums, 16, 128, x, np.zeros(16, np.float32)).to_dict() for _ in range(2))
    first.pop("seconds")
    second.pop("seconds")
    assert first == second


@cuda.jit
def halo(x, out):
    s = cuda.shared.array(34, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + 1] = x[i]
    if t == 0:
        s[0] = x[i - 1] if i > 0 else 0
    if t == 31:
        s[33] = x[i + 1] if i + 1 < x.size else 0
    cuda.syncthreads()
    out[i] = s[t] + s[t + 1] + s[t + 2]


def test_conditional_expressions_read_only_where_they_must():
    x = np.arange(96, dtype=np.int32)
    out = np.zeros(96, np.int32)
    report = gpukit.profile(halo, 3, 32, x, out)
    padded = np.pad(x, 1)
    assert out.tolist() == (padded[:-2] + padded[1:-1] + padded[2:]).tolist()
    assert not report.hazards


@cuda.jit
def bisect_in_shared_memory(keys, wanted, out):
    s = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    for i in range(t, 256, cuda.blockDim.x):
        s[i] = keys[i]
    cuda.syncthreads()
    for k in range(wanted.shape[1]):
        low, high = 0, 256
        while low < high:
            middle = (low + high) // 2
            if s[middle] < wanted[t, k]:
                low = middle + 1
            else:
                high = middle
        out[t, k] = low


def test_a_search_in_memory_that_was_written_is_not_taken_for_polling():
    """The loops read shared memory and store nothing, like a poll, but get on: their lanes must meet at the end."""
    rng = np.random.default_rng(2)
    keys = np.sort(rng.integers(0, 1000, 256)).astype(np.int32)
    wanted = rng.integers(-5, 1005, (64, 20)).astype(np.int32)
    out = np.zeros((64, 20), np.int32)
    report = gpukit.profile(bisect_in_shared_memory, 1, 64, keys, wanted, out)
    assert (out == np.searchsorted(keys, wanted)).all()
    assert not report.hazards
    assert report.counters["global_store_requests"] == 2 * 20


@cuda.jit
def count_in_bins(x, starts, bins):
    i = cuda.grid(1)
    for k in range(starts[i], starts[i + 1]):
        cuda.atomic.add(bins, x[k] % 8, 1)
    bins[8 + i] = i


def test_a_loop_of_atomics_is_not_taken_for_polling():
    """Rows of very different length: the short ones wait for the long one, so the last store is one request."""
    starts = np.zeros(33, np.int32)
    starts[1:] = np.cumsum([400] + [1] * 31)
    x = np.arange(starts[-1], dtype=np.int32)
    report = gpukit.profile(count_in_bins, 1, 32, x, starts, np.zeros(40, np.int32))
    assert report.counters["global_store_requests"] == 1
    assert report.counters["global_atomics"] == 400


@cuda.jit
def three_loops(x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                out[i, j, k] = x[i, j, k]


@pytest.mark.parametrize("shape", [(90, 1, 1), (1, 90, 1), (1, 1, 90), (30, 3, 1), (1, 2, 200)])
def test_a_loop_that_begins_anew_with_the_same_values_has_an_end(shape):
    x = np.arange(np.prod(shape)).reshape(shape)
    out = np.zeros_like(x)
    gpukit.launch(three_loops, 1, 1, x, out)
    assert (out == x).all()


@cuda.jit
def outer_loop_without_end(x, out):
    i = 0
    while i < x.size:
        for k in range(5):
            out[k] = x[i]


def test_an_outer_loop_that_never_ends_is_stopped_in_time():
    with pytest.raises(gpukit.KernelDeadlock, match="nothing that this loop's condition depends on changes"):
        gpukit.launch(outer_loop_without_end, 1, 32, np.ones(9), np.zeros(9))


@cuda.jit
def votes_of_wide_numbers(out):
    t = cuda.threadIdx.x
    out[t, 0] = cuda.syncthreads_count(t * 2**32)
    out[t, 1] = cuda.syncthreads_count(t)


def test_a_barrier_counts_the_lower_half_of_its_predicate():
    """As read on an H200: the intrinsic takes an int32."""
    out = np.zeros((64, 2), np.int32)
    gpukit.profile(votes_of_wide_numbers, 1, 64, out)
    assert (out == [0, 63]).all()


@cuda.jit
def last_element_in_one_arm(x, out, n):
    i = cuda.grid(1)
    if i >= 10:
        last = x[-1]
        if n > 0:
            out[i] = last
        if i > 15:
            out[i] += last


@pytest.mark.parametrize("threads", [64, 50])
def test_a_negative_index_of_all_lanes_loads_one_value(threads):
    out = np.zeros(threads)
    gpukit.profile(last_element_in_one_arm, 1, threads, np.arange(40.0), out, 1)
    assert (out == 39 * (1 * (np.arange(threads) >= 10) + (np.arange(threads) > 15))).all()


@cuda.jit
def half_warps_hand_over(flag, out):
    t = cuda.threadIdx.x
    quarter = t >> 3
    if quarter == 0:
        cuda.syncwarp(0xFFFF)
        if t == 0:
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
    elif quarter == 2:
        cuda.syncwarp(0xFFFF0000)
    elif quarter == 1:
        cuda.syncwarp(0xFFFF)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        cuda.syncwarp(0xFFFF0000)
    out[t] = quarter


def test_groups_of_a_warp_with_their_own_masks_do_not_wait_for_each_other():
    out = np.zeros(32, np.int64)
    report = gpukit.profile(half_warps_hand_over, 1, 32, np.zeros(1, np.int32), out)
    assert (out == np.arange(32) >> 3).all()
    assert not [h for h in report.hazards if h.severity != "note"]


@cuda.jit
def wait_for_the_clock(out):
    start = cuda.clock64()
    if cuda.threadIdx.x < 5:
        while cuda.clock64() - start < 5000:
            pass
    out[cuda.threadIdx.x] = 1


def test_waiting_for_the_clock_has_an_end():
    out = np.zeros(32)
    gpukit.profile(wait_for_the_clock, 1, 32, out)
    assert (out == 1).all()


@cuda.jit(device=True)
def larger(p, q):
    if p > q:
        return p
    return q


@cuda.jit
def early_return_with_a_call(x, out):
    t = cuda.threadIdx.x
    tile = cuda.shared.array(64, int32)
    if x[t] < 8:
        out[t] = larger(x[t], 3)
        return
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[t]


def test_a_thread_that_returns_by_branches_of_its_own_is_gone_before_the_barrier():
    out = np.zeros(64, np.int32)
    report = gpukit.profile(early_return_with_a_call, 1, 64, np.arange(64, dtype=np.int32), out)
    assert [h.kind for h in report.hazards if h.severity != "note"] == ["barrier_with_exited_threads"]
    assert (out == np.maximum(np.arange(64), np.where(np.arange(64) < 8, 3, 0))).all()


def test_a_joined_set_descends_from_no_set_that_lacks_some_of_its_lanes():
    wave = Wave(Geometry((1, 1, 1), (32, 1, 1)), 0, 1)

    def some(*lanes):
        return np.isin(np.arange(8), lanes)

    one = LaneSet(wave, np.arange(0, 8), wave.everyone)
    other = LaneSet(wave, np.arange(8, 16), wave.everyone)
    mixed = executor.join([one.subset(some(0, 1)), other.subset(some(0, 1))])
    together = executor.join([mixed, one.subset(some(2, 3, 4, 5))])
    assert together.lanes.tolist() == [0, 1, 2, 3, 4, 5, 8, 9]


@cuda.jit
def triangle(out):
    i = cuda.grid(1)
    total = 0
    for j in range(i):
        total += j
    out[i] = total


def test_lanes_that_leave_a_loop_one_by_one_do_not_fill_memory():
    out = np.zeros(4096, np.int64)
    tracemalloc.start()
    try:
        report = gpukit.profile(triangle, 16, 256, out, hazards=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (out == [i * (i - 1) // 2 for i in range(4096)]).all()
    assert report.counters["global_store_requests"] == 128
    assert peak < 30e6
