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


def test_every_table_is_there_and_every_mistake_has_a_cure_beside_it():
    wrong = Counter(case.kernel.__module__ for case in CASES if case.kinds)
    clean = Counter(case.kernel.__module__ for case in CASES if not case.kinds)
    for module in MODULES:
        assert wrong[module.__name__] >= 3 and clean[module.__name__] >= 3
