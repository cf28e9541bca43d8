"""Kernels as people write them, wrong and right: the mistake is reported by its name, the cure comes out clean."""

import re
from collections import Counter

import numpy as np
import pytest
from hazard_cases import barriers, bounds, global_races, numbers, shared_races, speed, warps
from hazard_cases.table import CASES, Case

import gpukit

MODULES = (barriers, bounds, global_races, numbers, shared_races, speed, warps)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kernel.__name__)
def test_kernel(case: Case):
    args = case.args()
    report = gpukit.profile(case.kernel, case.grid, case.block, *args, shared_bytes=case.shared_bytes)
    everything = [*report.hazards, *report.findings]
    told = "\n".join(str(h) for h in everything)
    reported = {h.kind for h in everything}
    assert case.kinds <= reported, told
    weighty = {h.kind for h in report.hazards} | (reported & case.quiet)
    assert weighty <= case.kinds | case.also, told
    if case.result is not None:
        for position, expected in case.result(*case.args()).items():
            np.testing.assert_allclose(args[position], expected, rtol=1e-4)
    for hazard in report.hazards:
        # One sentence for a beginner: the line, who, and what to do.
        assert hazard.message.startswith(f"line {hazard.line}: "), hazard.message
        assert hazard.message.endswith(hazard.advice) and hazard.advice.endswith("."), hazard.message
        assert re.search(r"thread|lane|array|memory", hazard.message), hazard.message
        assert hazard.lines and hazard.count > 0


def test_every_table_has_mistakes_and_cures():
    wrong = Counter(case.kernel.__module__ for case in CASES if case.kinds)
    clean = Counter(case.kernel.__module__ for case in CASES if not case.kinds)
    for module in MODULES:
        assert wrong[module.__name__] >= 3 and clean[module.__name__] >= 3


@pytest.mark.parametrize(
    ("kernel", "kind", "phrase"),
    [
        ("update_by_a_block", "race_global", "use cuda.atomic.add"),
        ("coo_spmv_plain", "race_global", "use cuda.atomic.add"),
        ("update_by_two_blocks", "race_global_interblock", "only with atomics"),
        ("smooth_in_place_between_barriers", "race_global_interblock", "another array"),
        ("last_block_fence_before_barrier", "race_global_interblock", "does not order blocks"),
        ("count_read_at_once", "race_global_interblock", "in the block that finishes last"),
        ("reverse_in_a_warp", "race_shared", "add cuda.syncwarp()"),
        ("reverse_without_barrier", "race_shared", "Put cuda.syncthreads()"),
        ("warp_tail", "race_shared", "then cuda.syncwarp(), then write"),
        ("stencil_in_place", "race_shared", "then cuda.syncthreads(), then write"),
        ("two_threads_one_element", "race_shared", "Only one thread may write"),
        ("slices_that_overlap", "race_shared", "sh[63]"),
        ("records_without_barrier", "race_shared", "s[63].b"),
        ("continue_past_barrier", "barrier_divergence", "in different turns of its loop"),
        ("grid_sync_of_some_blocks", "barrier_divergence", "other blocks never reach it"),
        ("all_inside_the_guard", "barrier_with_exited_threads", "14 threads of block 0 (first thread 50)"),
        ("brighten_wraps", "int_overflow", "stores 300 in y, a uint8 array, which keeps only 44"),
    ],
)  # fmt: skip
def test_the_message_names_the_cure(kernel: str, kind: str, phrase: str):
    (case,) = (c for c in CASES if c.kernel.__name__ == kernel)
    report = gpukit.profile(case.kernel, case.grid, case.block, *case.args(), shared_bytes=case.shared_bytes)
    assert any(phrase in hazard.message for hazard in report.hazards if hazard.kind == kind)


@pytest.mark.parametrize("kernel", ["matmul_early_return", "histogram_not_zeroed", "continue_past_barrier_in_while"])
def test_one_mistake_is_not_told_twice(kernel: str):
    (case,) = (c for c in CASES if c.kernel.__name__ == kernel)
    report = gpukit.profile(case.kernel, case.grid, case.block, *case.args())
    kinds = Counter(h.kind for h in [*report.hazards, *report.findings])
    assert not {"int_overflow", "nan_propagation"} & set(kinds)
    assert kinds["barrier_with_exited_threads"] + kinds["barrier_divergence"] <= 1
