"""Grades one submission: a process of its own, started as `python -m gpukit.grading.one`.

Reads a job (JSON) from standard input and writes the record to standard output. The student's kernels are read by
`gpukit.load`, so none of the file's Python runs here; host code and the compiler of C++ run in further processes, with
limits.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gpukit import __version__
from gpukit.errors import GpukitError
from gpukit.grading import record
from gpukit.grading.record import Cost, HazardFound, Item, Record
from gpukit.labs import answers, running
from gpukit.labs.answers import Answer
from gpukit.labs.errors import AnswerRefused, NotStarted
from gpukit.labs.folders import Lab
from gpukit.labs.regions import language_of
from gpukit.labs.running import Outcome


def graded(
    lab: Lab, student: str, path: Path | None, seed: int, file: str = "", notes: Sequence[str] = (), problem: str = ""
) -> Record:
    """The record of one submission.

    Args:
        path: the file to grade, None where there is none for the reason `problem`.
        seed: what the inputs are made from. file, notes: as `collecting.Submission` has them.

    Raises:
        LabError: the lab is wrong, not the answer.
    """
    blank = _Blank(lab, student, file, tuple(notes), seed)
    if path is None:
        return blank.record(record.MISSING, problem)
    try:
        text = source_of(path)
    except GpukitError as error:
        return blank.record(record.UNREADABLE, error.message)
    name = "student.cu" if path.suffix.lower() == ".cu" else "student.py"
    blank.text, blank.language = text, language_of(name)
    if blank.language not in lab.languages:
        reason = f"{lab.name} takes {' or '.join(lab.languages)}; this is {blank.language}"
        return blank.record(record.REFUSED, reason)
    with _alone(text, name) as place:
        try:
            answer = Answer(place, lab.host, text, apart=True)
        except AnswerRefused as error:
            return blank.record(record.REFUSED, f"line {error.line}: {error.message}" if error.line else error.message)
        outcomes = list(running.run(lab, answer, seed))
    return blank.record(record.GRADED, "", outcomes)


def stopped(lab: Lab, student: str, seed: int, file: str, notes: Sequence[str], reason: str) -> Record:
    """The record of a submission whose grading did not come to its end."""
    return _Blank(lab, student, file, tuple(notes), seed).record(record.STOPPED, reason)


def source_of(path: Path) -> str:
    """The student's text; of a notebook what its task cells hold. Raises GpukitError where it cannot be read."""
    if path.suffix.lower() == ".ipynb":
        from gpukit.labs import notebooks

        return notebooks.student_source(path)
    return answers.read(path)


@contextmanager
def _alone(text: str, name: str) -> Iterator[Path]:
    """The text as a file in a folder of its own, which is the current folder meanwhile: messages call it by its name
    alone, and nothing lies beside it that it could import."""
    back = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="gpukit-") as folder:
        path = Path(os.path.realpath(folder)) / name
        path.write_text(text, encoding="utf-8")
        os.chdir(path.parent)
        try:
            yield path
        finally:
            os.chdir(back)


class _Blank:
    """What a record holds whatever came of the submission."""

    def __init__(self, lab: Lab, student: str, file: str, notes: tuple[str, ...], seed: int):
        self.lab, self.student, self.file, self.notes, self.seed = lab, student, file, notes, seed
        self.text = self.language = ""

    def record(self, status: str, reason: str, outcomes: Sequence[Outcome] | None = None) -> Record:
        """The record; without outcomes every test failed for the same reason."""
        if outcomes is None:
            items = tuple(_item(self.lab, Outcome(test, running.FAILED), reason) for test in self.lab.tests)
        else:
            items = tuple(_item(self.lab, outcome, _message(outcome)) for outcome in outcomes)
        return Record(
            lab=self.lab.name,
            student=self.student,
            submission=record.Submission(
                self.file,
                self.language,
                hashlib.sha256(self.text.encode()).hexdigest() if self.text else "",
                self.notes,
            ),
            status=status,
            reason=" ".join(reason.split()),
            seed=self.seed,
            points=float(sum(item.points for item in items)),
            max_points=float(self.lab.max_points),
            items=items,
            source=self.text,
            environment={"gpukit": __version__, "python": platform.python_version(), "numpy": np.__version__},
            complete=True,
        )


def _message(outcome: Outcome) -> str:
    if outcome.hole is not None:
        return NotStarted(outcome.hole).message
    return str(outcome.finding) if outcome.finding else ""


def _item(lab: Lab, outcome: Outcome, message: str) -> Item:
    test, finding = outcome.test, outcome.finding
    line = outcome.hole.line if outcome.hole else finding.line if finding else 0
    return Item(
        test=test.name,
        task=test.task,
        title=lab.tasks[test.task],
        points=outcome.points,
        max_points=test.points,
        status=outcome.status,
        message=message,
        hint=test.hint,
        line=line or None,
        hazards=tuple(HazardFound(**hazard) for hazard in finding.hazards) if finding else (),
        counters={
            name: Cost(m.got, m.allowed, m.reference, m.way) for name, m in sorted(outcome.measured.counters.items())
        },
        lines=dict(sorted(outcome.measured.lines.items())),
    )


def main() -> int:
    job = json.load(sys.stdin)
    path = Path(job["path"]) if job["path"] else None
    made = graded(Lab(Path(job["lab"])), job["student"], path, job["seed"], job["file"], job["notes"], job["problem"])
    sys.stdout.write(json.dumps(record.to_dict(made)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
