"""What the CPU machine counts, and finds wrong, in one run of a rung: every launch of its plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import gpukit
from gpukit import devices
from gpukit.comparison import LevelComparison
from gpukit.devices import CpuMachine
from gpukit.levels import COMPILED, SOURCE
from gpukit.machine import counters
from gpukit.registry import CPP, Launch, Plan, Rung
from gpukit.report import Report


@dataclass(frozen=True)
class Counted:
    """`counters` of all launches together, in `Report.counters`' names; `hazards` are the errors, each line once."""

    level: str
    counters: dict[str, int | float]
    hazards: list[dict[str, Any]]


def count(rung: Rung, plan: Plan, hazards: bool = True) -> Counted:
    """Run a rung's plan once on the CPU machine, counting. Arrays of the plan lie on the host.

    Raises GpukitError for a kernel that does not compile or run.
    """
    reports = profile(plan, hazards=hazards)
    errors = {
        (error.kind, error.line): {"kind": error.kind, "line": error.line, "message": error.message}
        for report in reports
        for error in report.errors
    }
    level = COMPILED if rung.language == CPP else SOURCE
    return Counted(level, together(reports), list(errors.values()))


def together(reports: Iterable[Report]) -> dict[str, int | float]:
    """The counters of several launches as if they were one."""
    return counters.together([report.counters for report in reports])


def profile(plan: Plan, **options: Any) -> list[Report]:
    """A report of each launch of a plan, in order; `options` as `gpukit.profile` takes them."""
    return [
        gpukit.profile(
            *(launch.kernel, launch.grid, launch.block, *launch.args), shared_bytes=launch.shared_bytes, **options
        )
        for launch in _started(plan)
    ]


def compare(plan: Plan, **options: Any) -> list[LevelComparison]:
    """Both levels of each launch of a plan, in order; `options` as `gpukit.compare_levels` takes them."""
    found = []
    for launch in _started(plan):
        what = launch.kernel, launch.grid, launch.block
        found.append(gpukit.compare_levels(*what, *launch.args, shared_bytes=launch.shared_bytes, **options))
        CpuMachine().launch(launch)  # comparing leaves the arrays as they were, and the next launch may need them
    return found


def _started(plan: Plan) -> Iterable[Launch]:
    """The launches of a plan whose arrays are set for a run."""
    devices.poison(plan)
    devices.restore(plan)
    return plan.launches
