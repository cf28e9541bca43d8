"""`gpukit watch`: what happens while a student works on a lab, and what is said of it. No input or output.

A `Watch` is told of saves and keys, is looked at (`tick`) many times a second, and has lines to show. The tests run in
a child process: a save in the middle of a run stops it and begins anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpukit.labs import answers, runs
from gpukit.labs.failures import number
from gpukit.labs.folders import Lab
from gpukit.labs.progress import mark
from gpukit.labs.running import FAILED
from gpukit.labs.runs import Run, Verdict
from gpukit.report.layout import near_path

# An editor that saves by renaming leaves no file for a moment.
GRACE_SECONDS = 0.5

GOOD, BAD, DIM, PLAIN, HEAD = "good", "bad", "dim", "plain", "head"


@dataclass(frozen=True)
class Line:
    """A piece of text to show, and what it is: one of good, bad, dim, plain, head."""

    text: str
    kind: str = PLAIN


class Watch:
    """One student at one lab.

    task: the one that is looked at. finished: all tests of the lab pass. `ask` gives the next hint of a task as text.
    """

    def __init__(
        self,
        lab: Lab,
        language: str | None,
        machine: str,
        ask: Callable[[str], str],
        start: runs.Start = Run,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.lab = lab
        self.language = language or answers.chosen_language(lab)
        self.machine = machine
        self.finished = False
        self.task = next(iter(lab.tasks))
        self._ask, self._start, self._clock = ask, start, clock
        self._run: Run | None = None
        self._verdicts: dict[str, Verdict] = {}
        self._seen: bytes | None = None
        self._gone_since: float | None = None
        self._first_look = True
        self._error = ""
        self._hints: list[str] = []
        self._news: list[Line] = []
        self._told = False

    # --- what happens ------------------------------------------------------------------------------------------------

    @property
    def file(self) -> Path:
        return self.lab.file(answers.STUDENT, self.language)

    @property
    def busy(self) -> bool:
        return self._run is not None

    def saved(self) -> bool:
        """Something happened to the student's file; whether there is something new to show."""
        try:
            text = self.file.read_bytes()
        except FileNotFoundError:
            self._gone_since = self._gone_since or self._clock()
            return False
        except OSError as error:
            self._error = f"{near_path(str(self.file))} cannot be read: {error.strerror}"
            return True
        self._gone_since = None
        if text == self._seen:
            return False
        self._seen = text
        return self.again()

    def again(self) -> bool:
        """Run the tests, those of the task first."""
        self.close()
        self._error, self._news, self._told = "", [], False
        self._run = self._start(self.lab, self.language, self.machine, first=self.task)
        return True

    def turn_to(self, language: str) -> None:
        """The other file of the lab was saved."""
        self.language, self._seen = language, None

    def tick(self) -> bool:
        """Look at the run; whether there is something new to show."""
        if self._gone_since is not None and self._clock() - self._gone_since > GRACE_SECONDS:
            return self._gone()
        if self._run is None or not self._run.poll():
            return False
        for verdict in self._run.verdicts:
            self._verdicts[verdict.test] = verdict
        if not self._run.done:
            tests = {test.name for test in self.lab.tests if test.task == self.task}
            known = {verdict.test for verdict in self._run.verdicts}
            fresh = tests <= known and not self._told
            self._told = self._told or fresh
            return fresh
        self._error = self._run.error
        self.close()
        if not self._error:
            self._move_on()
        return True

    def _gone(self) -> bool:
        self.close()
        self._gone_since = None
        self._seen = None
        here = near_path(str(self.file))
        self._error = f"{here} is gone; save it again, or get a fresh one: gpukit reset {self.lab.number}"
        return True

    def _move_on(self) -> None:
        """After a whole run: from a task that passes to the next open one, behind it or else from the beginning."""
        is_open = [task for task in self.lab.tasks if not self._passes(task)]
        if not is_open:
            self.finished = True
            return
        if self._first_look:
            self._first_look = False
            self._look_at(is_open[0])
        elif self._passes(self.task):
            done = self.task
            tasks = list(self.lab.tasks)
            behind = [task for task in is_open if tasks.index(task) > tasks.index(done)]
            self._look_at((behind or is_open)[0])
            self._news = [Line(f"task {done} passes: {self.lab.tasks[done]}", GOOD)]

    def key(self, key: str) -> bool:
        """h, r, n or p was pressed; whether there is something new to show."""
        if key == "r":
            self._seen = None
            return self.saved() or True
        if key == "h":
            seen = "\n".join(line.text for line in self.lines())
            hint = self._ask(self.task)
            if hint.partition(": ")[2] in seen:  # a failure shows its test's hint already
                hint = self._ask(self.task)
            self._hints.append(hint)
            return True
        if key in ("n", "p"):
            tasks = list(self.lab.tasks)
            at = tasks.index(self.task) + (1 if key == "n" else -1)
            self._look_at(tasks[min(max(at, 0), len(tasks) - 1)])
            return True
        return False

    def _look_at(self, task: str) -> None:
        self.task, self._hints, self._news = task, [], []

    def close(self) -> None:
        """Stop what runs."""
        if self._run is not None:
            self._run.close()
            self._run = None

    # --- what is shown -----------------------------------------------------------------------------------------------

    def _of(self, task: str) -> list[Verdict]:
        """What is known of a task's tests, in their order."""
        return [self._verdicts[t.name] for t in self.lab.tests if t.task == task and t.name in self._verdicts]

    def _passes(self, task: str) -> bool:
        found = self._of(task)
        return bool(found) and all(verdict.passed for verdict in found)

    def bar(self) -> str:
        """A mark a task, as in `gpukit.labs.progress`."""
        return "".join(mark([verdict.status for verdict in self._of(task)]) for task in self.lab.tasks)

    def lines(self) -> Iterator[Line]:
        """All that is to be seen now."""
        got = sum(verdict.points for verdict in self._verdicts.values())
        points = f"{number(got)} of {number(self.lab.max_points)} points"
        yield Line(f"{self.lab.name} [{self.bar()}] {points}: {self.lab.title}", HEAD)
        yield from self._news
        if self.finished:
            yield Line("The lab is complete: every test passes.", GOOD)
            return
        yield Line(f"task {self.task}, {self.lab.tasks[self.task]}", HEAD)
        yield from self._verdict_lines()
        for hint in self._hints:
            yield Line(hint)

    def _verdict_lines(self) -> Iterator[Line]:
        if self._error:
            yield Line(self._error, BAD)
            return
        found = self._of(self.task)
        if self.busy and not self._told:
            yield Line("the tests run ...", DIM)
            return
        wrong = [verdict for verdict in found if verdict.status == FAILED]
        for verdict in found:
            if verdict.passed:
                yield Line(f"{verdict.test} passed", GOOD)
        for verdict in wrong[:1]:
            yield Line(f"{verdict.test} failed", BAD)
            yield Line(_body(verdict))
        if len(wrong) > 1:
            more = ", ".join(verdict.test for verdict in wrong[1:])
            yield Line(f"{more} failed, too", BAD)
        begun = [verdict for verdict in found if not verdict.passed and verdict.status != FAILED]
        if begun and not wrong:
            yield Line(begun[0].text)
            if begun[0].hint and not self._hints:
                yield Line(f"hint: {begun[0].hint}", DIM)


def _body(verdict: Verdict) -> str:
    """A failure's text without its first line, which says the task that stands above it."""
    return verdict.text.partition("\n")[2]
