"""The magics of a lab's notebook. Only this module knows IPython.

%lab 05_reduction      the lab that the cells are about; begins anew
%%task 5.2             keeps this piece of student.py and runs the tests of its task
%machine gpu           where kernels run from now on: cpu or gpu
%progress              runs all tests on what was kept
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterable
from contextlib import ExitStack
from html import escape
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.display import display

from gpukit import devices
from gpukit.errors import GpukitError
from gpukit.labs import answers, folders, running, skeletons
from gpukit.labs.errors import AnswerRefused
from gpukit.labs.folders import Lab, Test
from gpukit.labs.notebooks.pieces import IMPORTS, Layout, assembled, cut, layout, numbered
from gpukit.labs.notebooks.showing import Progress, TaskResult, state
from gpukit.labs.regions import PYTHON
from gpukit.labs.running import FAILED, NOT_STARTED, Outcome
from gpukit.labs.session import CPU, GPU
from gpukit.report import Report, html

# What the file of the cells is called in reports.
FILE = "student.py"


@magics_class
class LabMagics(Magics):
    """The state of one notebook: its lab, and the last text of each cell that was run."""

    def __init__(self, shell: Any):
        super().__init__(shell)
        self.machine = CPU
        self.kept: dict[str, str] = {}
        self._lab: Lab | None = None
        self._plan: Layout | None = None
        self._given: dict[str, str] = {}
        self._last: dict[str, Outcome] = {}

    # --- magics ------------------------------------------------------------------------------------------------------

    @line_magic
    def lab(self, line: str) -> None:
        """%lab 05_reduction"""
        name = line.strip()
        root = folders.find_root()
        if not name:
            raise UsageError(f"%lab needs a name: {', '.join(lab.name for lab in folders.find_labs(root))}")
        self._begin(folders.find_lab(root, name))
        assert self._lab is not None
        print(f"{self._lab.name}: {self._lab.title}")

    @line_magic("machine")  # type: ignore[arg-type]
    def choose_machine(self, line: str) -> None:
        """%machine gpu"""
        self.machine = _machine(line.strip())
        print(f"kernels run on the {self.machine}")

    @cell_magic
    def task(self, line: str, cell: str) -> None:
        """%%task 5.2 [--machine gpu] [--seed 7]"""
        lab, plan = self._opened()
        wanted = _task_line(line)
        key = plan.key_of(" ".join(wanted.tasks)) or plan.key_of(wanted.tasks[0])
        if key is None:
            raise UsageError(f"{lab.name} has no task {' '.join(wanted.tasks)}; its cells are: {', '.join(plan.keys)}")
        if cell.strip():
            self.kept[key] = cell
        elif key in self.kept:
            del self.kept[key]
        seed = running.new_seed() if wanted.seed is None else wanted.seed
        machine = _machine(wanted.machine) if wanted.machine else self.machine
        display(self._run(lab, plan, key, machine, seed))

    @line_magic
    def progress(self, line: str) -> None:
        """%progress"""
        lab, plan = self._opened()
        pieces, notes = self._pieces(plan, "")
        for note in notes:
            print(note)
        outcomes = self._outcomes(lab, assembled(pieces), lab.tests, self.machine, running.new_seed())
        self._remember(outcomes)
        display(self._progress(lab))

    # --- state -------------------------------------------------------------------------------------------------------

    def _begin(self, lab: Lab) -> None:
        skeleton = skeletons.skeleton(lab, PYTHON)
        self._lab, self._plan = lab, layout(skeleton)
        self._given = cut(skeleton, self._plan)
        self.kept, self._last = {}, {}

    def _opened(self) -> tuple[Lab, Layout]:
        if self._lab is None or self._plan is None:
            raise UsageError("which lab is this? Run the first cell, or %lab and its name")
        return self._lab, self._plan

    def _pieces(self, plan: Layout, current: str) -> tuple[dict[str, str], list[str]]:
        """What was kept, what was given out where nothing was; and notes on cells that are left out."""
        pieces, notes = {}, []
        for key in plan.keys:
            text = self.kept.get(key, self._given[key])
            if key != current and not _parses(text):
                notes.append(f"the cell {key} is not valid Python, so this ran without it")
                text = self._given[key]
            pieces[key] = text
        return pieces, notes

    # --- runs --------------------------------------------------------------------------------------------------------

    def _run(self, lab: Lab, plan: Layout, key: str, machine: str, seed: int) -> Any:
        pieces, notes = self._pieces(plan, key)
        file = numbered(pieces, key)
        if key == IMPORTS:
            return _Kept(self._refusal(lab, file.text))
        tasks = key.split()
        tests = [test for test in lab.tests if test.task in tasks]
        outcomes = self._outcomes(lab, file.text, tests, machine, seed)
        self._remember(outcomes)
        report = _report(outcomes)
        prompts = {task: lab.tasks[task] for task in tasks}
        return TaskResult(prompts, outcomes, self._progress(lab), file.place, seed, notes, report)

    def _outcomes(self, lab: Lab, text: str, tests: list[Test], machine: str, seed: int) -> list[Outcome]:
        with ExitStack() as stack:
            try:
                answer = stack.enter_context(answers.of_text(lab, text, FILE))
            except AnswerRefused as error:
                names = {test.name for test in tests}
                return [outcome for outcome in running.refused(lab, error) if outcome.test.name in names]
            return list(running.run(lab, answer, seed, tests, machine))

    def _refusal(self, lab: Lab, text: str) -> str:
        """Why the imports cannot be kept, "" if they can."""
        try:
            ast.parse(text)
            answers.refuse(text, "", PYTHON, lab.host)
        except SyntaxError as error:
            return f"line {error.lineno}: this is not valid Python: {error.msg}"
        except AnswerRefused as error:
            return f"line {error.line}: {error.message}"
        return ""

    def _remember(self, outcomes: Iterable[Outcome]) -> None:
        self._last |= {outcome.test.name: outcome for outcome in outcomes}

    def _progress(self, lab: Lab) -> Progress:
        tasks = {}
        for task, prompt in lab.tasks.items():
            tests = [test for test in lab.tests if test.task == task]
            known = [self._last.get(test.name) for test in tests]
            word = state([NOT_STARTED if outcome is None else outcome.status for outcome in known])
            got = sum(outcome.points for outcome in known if outcome is not None)
            tasks[task] = (prompt, word, got, sum(test.points for test in tests))
        return Progress(lab.name, tasks)


def _report(outcomes: list[Outcome]) -> Report | None:
    """The report of the first test that failed; where none did, of the last launch, for cost tests are the last."""
    failed = [outcome for outcome in outcomes if outcome.status == FAILED]
    reports = [outcome.measured.report for outcome in failed or reversed(outcomes)]
    return next((report for report in reports if report is not None), None)


class _Kept:
    """What is said of a cell without a task."""

    def __init__(self, problem: str):
        self._text = problem or "kept"

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return html.framed(f'<p class="head">{escape(self._text)}</p>')


class _Words(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%task: {message}")


def _task_line(line: str) -> argparse.Namespace:
    """tasks, machine and seed of the line behind %%task."""
    words = _Words(add_help=False)
    words.add_argument("tasks", nargs="+")
    words.add_argument("--machine")
    words.add_argument("--seed", type=int)
    return words.parse_args(line.split())


def _machine(name: str) -> str:
    if name not in (CPU, GPU):
        raise UsageError(f"there are two machines, cpu and gpu; not {name!r}")
    if name == GPU:
        try:
            devices.device(GPU)
        except GpukitError as error:
            raise UsageError(f"no GPU can be used here: {error}") from None
    return name


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
