"""What the tests of kernel families share: a rung run once on the CPU machine, and its counters."""

from __future__ import annotations

import numpy as np
import pytest

import gpukit
from gpukit import checking, devices, registry
from gpukit.compilers import toolkit

CPU = devices.device("cpu")
NO_COMPILER = toolkit.why_no_nvrtc()
needs_compiler = pytest.mark.skipif(bool(NO_COMPILER), reason=NO_COMPILER or "the compilers are here")


def each(*keys: str) -> list:
    """Rungs as pytest parameters; C++ needs the compilers."""
    return [pytest.param(key, marks=[needs_compiler] if key.startswith("cpp:") else []) for key in keys]


def at_levels(*keys: str) -> list:
    """Pytest parameters (key, level): both levels of Python rungs, the one that C++ has."""
    source = [pytest.param(key, "source", id=f"{key}-source") for key in keys if not key.startswith("cpp:")]
    return source + [pytest.param(key, "compiled", id=f"{key}-compiled", marks=needs_compiler) for key in keys]


def counters(family: registry.Family, key: str, level: str | None = None, n: int = 0, block: int = 0) -> dict:
    """What a rung counts on the family's problem of size n, after its answer was found right."""
    return report(family, key, level, n, block).counters


def report(family: registry.Family, key: str, level: str | None = None, n: int = 0, block: int = 0) -> gpukit.Report:
    """The report of a rung's one launch, whose answer was found right."""
    rung, problem = family.rungs[key], made(family, n)
    plan = rung.plan(problem, block or family.block, CPU)
    devices.poison(plan)
    devices.restore(plan)
    (one,) = plan.launches
    found = gpukit.profile(one.kernel, one.grid, one.block, *one.args, hazards=False, level=level)
    assert checking.compare(rung, problem, block, np.asarray(plan.answer())) is None
    return found


def made(family: registry.Family, n: int = 0, kind: str = "") -> registry.Problem:
    """The family's problem, of its size for the CPU machine and its last kind where nothing else is said."""
    return family.problem(n or family.cpu_n, kind or family.kinds[-1], np.random.default_rng(0), CPU)
