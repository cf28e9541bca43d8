"""A lab's tests in a process of their own, for who must not wait: `python -m gpukit.labs.child JOB RESULTS`.

JOB is a JSON file: lab (its folder), language (or null), machine, seed, first (the task whose tests come first) and
limit (seconds). RESULTS gets a line of JSON for each test as soon as it has run, then {"done": true}; or {"error":
sentence} where the lab itself is at fault.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpukit.errors import GpukitError
from gpukit.labs import answers, progress, running
from gpukit.labs.errors import AnswerRefused, NotStarted
from gpukit.labs.folders import Lab
from gpukit.labs.runs import Verdict


def verdicts(job: dict[str, Any]) -> Iterator[Verdict]:
    """What each test says, those of the task `first` before the others. Raises LabError where the lab is at fault."""
    lab, seed = Lab(Path(job["lab"])), int(job["seed"])
    tests = sorted(lab.tests, key=lambda test: test.task != job["first"])
    try:
        with answers.answer(lab, answers.STUDENT, job["language"]) as answer:
            for outcome in running.run(lab, answer, seed, tests, job["machine"]):
                yield _verdict(outcome, lab, seed)
    except AnswerRefused as error:
        for outcome in running.refused(lab, error):
            yield _verdict(outcome, lab, seed)


def _verdict(outcome: running.Outcome, lab: Lab, seed: int) -> Verdict:
    test, hole = outcome.test, outcome.hole
    text = ""
    if outcome.finding is not None:
        text = progress.failure_text(outcome, lab, seed)
    elif hole is not None:
        waits = "" if hole.task == test.task else f"\ntask {test.task} waits for it"
        text = f"{NotStarted(hole)}{waits}"
    return Verdict(test.name, test.task, outcome.status, outcome.points, test.points, text, test.hint)


def main(argv: Sequence[str]) -> int:
    job_file, results = map(Path, argv)
    job = json.loads(job_file.read_text(encoding="utf-8"))
    # Should the process that waits for this one be killed, a kernel without end must not live on.
    faulthandler.dump_traceback_later(job["limit"], exit=True, file=open(os.devnull, "w"))  # noqa: SIM115
    with results.open("w", encoding="utf-8") as stream:

        def say(entry: dict[str, Any]) -> None:
            stream.write(json.dumps(entry) + "\n")
            stream.flush()

        try:
            for verdict in verdicts(job):
                say(asdict(verdict))
            say({"done": True})
        except GpukitError as error:
            say({"error": str(error)})
        except Exception as error:  # the process that waits must hear of it
            say({"error": f"the tests of {job['lab']} cannot be run: {type(error).__name__}: {error}"})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
