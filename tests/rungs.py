"""Counters and hazards of one rung on a problem of any size, for the tests of single families."""

from __future__ import annotations

import numpy as np

import gpukit
from gpukit import checking, devices, registry
from gpukit.compilers import toolkit

CPU = devices.device("cpu")
LEVELS = ["source"] if toolkit.why_no_nvrtc() else ["source", "compiled"]


def reports(family: str, key: str, n: int, block: int, level: str | None = "source", kind: str | None = None) -> list:
    """The reports of a rung's launches in order; its answer is checked. `level` is None for CUDA C++."""
    made = registry.find_family(family)
    rung = made.rungs[key]
    problem = made.problem(n, kind or made.kinds[-1], np.random.default_rng(0), CPU)
    plan = rung.plan(problem, block, CPU)
    devices.poison(plan)
    devices.restore(plan)
    done = [
        gpukit.profile(one.kernel, one.grid, one.block, *one.args, shared_bytes=one.shared_bytes, level=level)
        for one in plan.launches
    ]
    failure = checking.compare(rung, problem, block, np.asarray(plan.answer()))
    assert failure is None, str(failure)
    return done


def counters(family: str, key: str, n: int, block: int, level: str | None = "source", kind: str | None = None) -> dict:
    """The counters of the only launch of a rung."""
    (report,) = reports(family, key, n, block, level, kind)
    return report.counters
