"""A run of a lab's tests in a child process: begun, looked at now and then, stopped at any time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpukit.errors import GpukitError
from gpukit.labs import answers, regions, running
from gpukit.labs.folders import Lab
from gpukit.labs.holes import holes

# Longer than any run of a lab's tests takes: a kernel without end.
LIMIT_SECONDS = 60
PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class Verdict:
    """What one test said; `text` is what a student reads of a failure, or of what is not started."""

    test: str
    task: str
    status: str
    points: float
    max_points: float
    text: str
    hint: str

    @property
    def passed(self) -> bool:
        return self.status == running.PASSED


class Run:
    """The tests of the student's file of a lab, those of task `first` before the others.

    verdicts: what is known so far. done: nothing more will come. error: why a run ended without all verdicts, "" if it
    did not. `close` must be called; it stops a run that goes on.
    """

    def __init__(
        self,
        lab: Lab,
        language: str | None = None,
        machine: str = "cpu",
        first: str = "",
        seed: int | None = None,
        limit: float = LIMIT_SECONDS,
    ):
        self.verdicts: list[Verdict] = []
        self.done = False
        self.error = ""
        self._limit = limit
        self._read = 0
        self._folder = tempfile.TemporaryDirectory(prefix="gpukit-", ignore_cleanup_errors=True)
        self._results = Path(self._folder.name) / "results"
        self._said = Path(self._folder.name) / "said"
        job = Path(self._folder.name) / "job.json"
        wanted = {
            "lab": str(lab.path),
            "language": language,
            "machine": machine,
            "first": first,
            "seed": running.new_seed() if seed is None else seed,
            "limit": limit + 10,
        }
        job.write_text(json.dumps(wanted), encoding="utf-8")
        self._began = time.monotonic()
        # The child finds the gpukit of this process, installed or not.
        package = str(Path(__file__).parents[2])
        paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gpukit.labs.child", str(job), str(self._results)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"},
            )

    def poll(self) -> bool:
        """Take in what is new; whether there was something."""
        if self.done:
            return False
        ended = self._process.poll() is not None  # before the reading: what it wrote last is there then
        before = len(self.verdicts)
        self._take_in()
        if not self.done and ended:
            self._end(f"the tests ended without a result: {self._last_words()}")
        elif not self.done and time.monotonic() - self._began > self._limit:
            self._end(f"the tests were stopped after {self._limit:g} s: is there a loop that never ends?")
        return self.done or len(self.verdicts) > before

    def _take_in(self) -> None:
        try:
            data = self._results.read_bytes()
        except OSError:
            return  # it has not begun
        whole = data[self._read : data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            entry = json.loads(line)
            if "error" in entry:
                self._end(entry["error"])
            elif "done" in entry:
                self._end("")
            else:
                self.verdicts.append(Verdict(**entry))

    def _end(self, error: str) -> None:
        self.done = True
        self.error = error
        self._stop()

    def _last_words(self) -> str:
        said = self._said.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "")
        return last or f"exit code {self._process.returncode}"

    def _stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self._stop()
        self._folder.cleanup()


Start = Callable[..., Run]


def results(lab: Lab, language: str | None = None, machine: str = "cpu") -> list[Verdict]:
    """All verdicts on the student's file. Raises GpukitError where there are none."""
    run = Run(lab, language, machine)
    try:
        while not run.done:
            run.poll()
            time.sleep(PAUSE_SECONDS)
    finally:
        run.close()
    if run.error:
        raise GpukitError(run.error)
    return run.verdicts


def open_task(verdicts: list[Verdict]) -> str | None:
    """The first task with a test that does not pass."""
    return next((verdict.task for verdict in verdicts if not verdict.passed), None)


def is_complete(lab: Lab) -> bool:
    """Whether all tests of a lab pass. They are not run where the student's file still has a hole."""
    path = lab.file(answers.STUDENT, answers.chosen_language(lab))
    if not path.is_file():
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    if holes(text, str(path), regions.language_of(path.name)):
        return False
    return open_task(results(lab)) is None
