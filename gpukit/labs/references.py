"""What the reference solution costs on an input: counted there and then, or as it was recorded for students."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import gpukit
from gpukit.labs.answers import Answer
from gpukit.labs.errors import LabError

FILE = "reference.json"
# The input of recorded counters is made from this seed, whatever seed a run has otherwise.
RECORDED_SEED = 2007

Counters = dict[str, int | float]


@dataclass(frozen=True)
class Launch:
    """One launch of a cost test: the n-th (from 0) of test `test`. `args` are as before a run, in their order."""

    test: str
    n: int
    kernel: str
    grid: Any
    block: Any
    args: tuple
    shared_bytes: int = 0


class Reference(Protocol):
    def seed(self, test: str, seed: int) -> int:
        """The seed that this test's input must be made from."""

    def counters(self, launch: Launch) -> Counters:
        """What the solution's launch counts; a counter that is 0 may be missing."""


@dataclass
class Counted:
    """The solution is there: it runs on the student's input. What it counted is kept in `made`, for a recording."""

    solution: Answer
    made: dict[str, list[Counters]] = field(default_factory=dict)

    def seed(self, test: str, seed: int) -> int:
        return seed

    def counters(self, launch: Launch) -> Counters:
        kernel = self.solution.kernel(launch.kernel)
        report = gpukit.profile(
            *(kernel, launch.grid, launch.block, *launch.args), shared_bytes=launch.shared_bytes, hazards=False
        )
        self.made.setdefault(launch.test, []).append(report.counters)
        return report.counters


@dataclass(frozen=True)
class Recorded:
    """The solution is not there. `tests`: test -> counters of its cost launches, in order, without those that are 0."""

    file: str
    tests: dict[str, list[Counters]]

    def seed(self, test: str, seed: int) -> int:
        return RECORDED_SEED if test in self.tests else seed

    def counters(self, launch: Launch) -> Counters:
        known = self.tests.get(launch.test, [])
        if launch.n >= len(known):
            raise LabError(f"no reference is recorded for launch {launch.n + 1} of {launch.test}", file=self.file)
        return known[launch.n]


def recorded(folder: Path, language: str) -> Recorded:
    """The recorded reference of a lab's folder. Raises LabError where there is none for that language."""
    path = folder / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Recorded(str(path), found["counters"][language])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LabError(f"the recorded reference cannot be read: {error}", file=str(path)) from None
