"""Runs a lab's tests on an answer: plain outcomes, whoever asks (pytest, the grader, watch, a notebook)."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gpukit.errors import GpukitError
from gpukit.labs import answers, references
from gpukit.labs.answers import Answer
from gpukit.labs.errors import LabError, NotStarted, TaskFailure
from gpukit.labs.failures import Finding, Measured
from gpukit.labs.folders import Lab, Test
from gpukit.labs.holes import Hole
from gpukit.labs.references import Counted, Reference
from gpukit.labs.session import CPU, Session

PASSED, FAILED, NOT_STARTED = "passed", "failed", "not started"


@dataclass(frozen=True)
class Outcome:
    """What a test says: `finding` when it failed, `hole` when the task is not started."""

    test: Test
    status: str
    finding: Finding | None = None
    hole: Hole | None = None
    measured: Measured = field(default_factory=Measured)

    @property
    def points(self) -> float:
        return self.test.points if self.status == PASSED else 0.0


def new_seed() -> int:
    """A seed that nobody knows before."""
    return secrets.randbelow(1 << 32)


@contextmanager
def reference_for(lab: Lab, language: str) -> Iterator[Reference]:
    """The solution if it is there; otherwise what was recorded of it."""
    if not lab.has_solution:
        yield references.recorded(lab.path, language)
        return
    with answers.answer(lab, answers.SOLUTION, language) as solution:
        yield Counted(solution)


def run_test(
    lab: Lab, test: Test, answer: Answer, reference: Reference | None, seed: int, machine: str = CPU
) -> Outcome:
    """One test of one answer. What makes the test itself break is the answer's fault: the solution passes.

    Raises LabError where the lab is wrong."""
    session = Session(lab, answer, reference, test.name, seed, machine)
    try:
        before_test(test, answer)
        test.function(session)
    except LabError:
        raise
    except Exception as error:
        return outcome_of(test, error, answer, session.measured)
    return Outcome(test, PASSED, measured=session.measured)


def outcome_of(test: Test, error: Exception, answer: Answer, measured: Measured | None = None) -> Outcome:
    """The outcome of a test that ended with an exception, which is no LabError."""
    measured = Measured() if measured is None else measured
    if isinstance(error, NotStarted):
        return Outcome(test, NOT_STARTED, hole=error.hole, measured=measured)
    if isinstance(error, TaskFailure):
        return Outcome(test, FAILED, error.finding, measured=measured)
    what = f"the test cannot use what the answer gives: {type(error).__name__}: {error}"
    return Outcome(test, FAILED, Finding(what, file=answer.file), measured=measured)


def before_test(test: Test, answer: Answer) -> None:
    """Raise NotStarted where a constant of the test's own task is open. Of functions a test asks for those it calls, so
    that one can be tried before the task's others are written."""
    hole = answer.open_constant(test.task)
    if hole is not None:
        raise NotStarted(hole)


def run(
    lab: Lab, answer: Answer, seed: int, tests: Iterable[Test] | None = None, machine: str = CPU
) -> Iterator[Outcome]:
    """The tests of a lab on an answer, one outcome each, in order.

    Raises LabError where the lab has neither a solution nor a recorded reference.
    """
    with reference_for(lab, answer.language) as reference:
        for test in lab.tests if tests is None else tests:
            yield run_test(lab, test, answer, reference, seed, machine)


def refused(lab: Lab, error: GpukitError) -> list[Outcome]:
    """The outcomes of a file that is no answer: every test fails with the same sentence."""
    finding = Finding(error.message, file=error.file or "", line=error.line or 0)
    return [Outcome(test, FAILED, finding) for test in lab.tests]
