"""What the tests of kernel families share: a rung run once on the CPU machine, and its counters."""

from __future__ import annotations

import numpy as np
import pytest

import gpukit
from gpukit import checking, devices, registry
from gpukit.bench import counting
from gpukit.compilers import toolkit

CPU = devices.device("cpu")
NO_COMPILER = toolkit.why_no_nvrtc()
LEVELS = ["source"] if NO_COMPILER else ["source", "compiled"]
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


def report(
    family: registry.Family, key: str, level: str | None = None, n: int = 0, block: int = 0, kind: str = ""
) -> gpukit.Report:
    """The report of a rung's one launch, whose answer was found right."""
    (found,) = reports(family, key, level, n, block, kind)
    return found


def reports(
    family: registry.Family,
    key: str,
    level: str | None = None,
    n: int = 0,
    block: int = 0,
    kind: str = "",
    hazards: bool = False,
) -> list[gpukit.Report]:
    """The reports of a rung's launches in order, once its answer was found right. `level` is None for CUDA C++."""
    rung, problem, threads = family.rungs[key], made(family, n, kind), block or family.block
    plan = rung.plan(problem, threads, CPU)
    found = counting.profile(plan, level=level, hazards=hazards)
    failure = checking.compare(rung, problem, threads, np.asarray(plan.answer()))
    assert failure is None, str(failure)
    return found


def made(family: registry.Family, n: int = 0, kind: str = "") -> registry.Problem:
    """The family's problem, of its size for the CPU machine and its last kind where nothing else is said."""
    return family.problem(n or family.cpu_n, kind or family.kinds[-1], np.random.default_rng(0), CPU)
