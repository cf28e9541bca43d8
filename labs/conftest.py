"""`pytest labs/`: grades the students' files, and says what to do next.

pytest labs/                       all labs
pytest labs/02_divergence          one of them
pytest labs/ --machine gpu         the same tests on an NVIDIA GPU, and times beside the reference's
pytest labs/ --impl solution       for instructors: solution, skeleton or wrong/NAME in the student's place
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

import pytest

from gpukit import devices
from gpukit.errors import GpukitError
from gpukit.labs import answers, progress, regions, running
from gpukit.labs.errors import AnswerRefused, LabError, NotStarted
from gpukit.labs.folders import Lab, is_lab
from gpukit.labs.session import Session
from gpukit.labs.timing import Times

TIME = "time_"
SPELLED = {"python": regions.PYTHON, "cpp": regions.CPP, "auto": None}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("labs")
    group.addoption("--impl", default=answers.STUDENT, help="student, solution, skeleton or wrong/NAME")
    group.addoption("--language", choices=SPELLED, default="auto", help="which file: student.py or student.cu")
    group.addoption("--machine", choices=("cpu", "gpu"), default="cpu", help="where the kernels run")
    group.addoption("--seed", type=_seed, help="the seed of the random inputs, to see a failure again")


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 on, not {text!r}")
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    try:
        devices.device(config.getoption("--machine"))
    except GpukitError as error:
        raise pytest.UsageError(f"--machine gpu: {error}") from None
    config.stash[COURSE] = Course(config)
    config.option.reportchars = ""  # what is open is said at the end, in the order of the tasks


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Folders that are no labs, such as the template, are not graded."""
    here = Path(__file__).parent
    return True if collection_path.parent == here and collection_path.is_dir() and not is_lab(collection_path) else None


def pytest_report_header(config: pytest.Config) -> str:
    course = config.stash[COURSE]
    return f"labs: {course.impl} on the {course.machine}, inputs from --seed {course.seed}"


class Course:
    """The answers that are tested, each read once, and what came of it."""

    def __init__(self, config: pytest.Config):
        self.impl = config.getoption("--impl")
        self.machine = config.getoption("--machine")
        self.language = SPELLED[config.getoption("--language")]
        given = config.getoption("--seed")
        self.seed = running.new_seed() if given is None else given
        self.labs: dict[Path, Lab] = {}
        self.outcomes: dict[Lab, list[running.Outcome]] = {}
        self.stack = ExitStack()
        self.opened: dict[Lab, tuple] = {}
        self.times: list[Times] = []

    def lab(self, item: pytest.Item) -> Lab:
        return self.labs.setdefault(item.path.parent, Lab(item.path.parent))

    def session(self, item: pytest.Function) -> Session:
        """The session of one test. Raises AnswerRefused, NotStarted."""
        lab = self.lab(item)
        if self.language and self.language not in lab.languages:
            pytest.skip(f"{lab.name} has no answer in {self.language}")
        if lab not in self.opened:
            answer = self.stack.enter_context(answers.answer(lab, self.impl, self.language))
            self.opened[lab] = answer, self.stack.enter_context(running.reference_for(lab, answer.language))
        answer, reference = self.opened[lab]
        test = lab.test_of(item.originalname, item.obj)
        running.before_test(test, answer)
        return Session(lab, answer, reference, test.name, self.seed, self.machine)

    def is_right(self, item: pytest.Function) -> bool:
        """Whether the tests of this item's task have run and passed."""
        lab = self.lab(item)
        task = lab.test_of(item.originalname, item.obj).task
        found = [outcome.status for outcome in self.outcomes.get(lab, ()) if outcome.test.task == task]
        return bool(found) and set(found) == {running.PASSED}


COURSE = pytest.StashKey[Course]()


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> list[pytest.Function] | None:
    """Functions `time_N_k_what` run on a GPU alone, behind the tests: they compare times, for information."""
    on_gpu = collector.config.getoption("--machine") == "gpu"
    if on_gpu and name.startswith(TIME) and isinstance(collector, pytest.Module):
        return [pytest.Function.from_parent(collector, name=name)]
    return None


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Session:
    course, item = request.config.stash[COURSE], request.node
    if item.name.startswith(TIME) and not course.is_right(item):
        pytest.skip("times are compared once the answer is right")
    session = course.session(item)
    session.times = course.times  # one list for all
    return session


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """A failure is its sentences, without the frames of the test; an open task is a skip at its own line."""
    report = yield
    course = item.config.stash[COURSE]
    error = call.excinfo.value if call.excinfo else None
    if (
        not isinstance(item, pytest.Function)
        or item.name.startswith(TIME)
        or (report.when == "setup" and error is None)
        or report.when == "teardown"
    ):
        return report
    lab = course.lab(item)
    test = lab.test_of(item.originalname, item.obj)
    if isinstance(error, AnswerRefused):
        # No mistake of the setup, but the answer's, and the same for all tests: told in full once.
        report.when = "call"
        outcome = running.Outcome(test, running.FAILED, running.refused(lab, error)[0].finding)
        report.longrepr = (
            f"{error}" if lab not in course.outcomes else "the file cannot be taken as an answer: see above"
        )
    elif isinstance(error, LabError):
        report.outcome = "failed"
        report.longrepr = f"{error}"
        return report
    elif isinstance(error, Exception) and lab in course.opened:
        outcome = running.outcome_of(test, error, course.opened[lab][0])
        if outcome.hole is not None:
            report.outcome = "skipped"
            report.longrepr = (outcome.hole.file, outcome.hole.line, NotStarted(outcome.hole).message)
        else:
            report.longrepr = progress.failure_text(outcome, lab, course.seed)
    elif error is not None:
        return report  # interrupted, or skipped by the test
    else:
        outcome = running.Outcome(test, running.PASSED)
    course.outcomes.setdefault(lab, []).append(outcome)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    course = config.stash[COURSE]
    course.stack.close()
    if course.outcomes:
        terminalreporter.section("progress")
        for line in progress.overview(course.outcomes, everything=config.option.verbose > 0):
            terminalreporter.write_line(line)
    if course.times:
        terminalreporter.section("times on the GPU, for information")
        for times in course.times:
            terminalreporter.write_line(f"{times.test}: {times}")
