"""Grades a folder of submissions: each in a process of its own, as many at a time as there are cores, a record each.

What is graded already is not graded again, as long as the submission, the lab and the seed are the same; so a batch
that was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path

from gpukit import __version__
from gpukit.errors import GpukitError
from gpukit.files import write_whole
from gpukit.grading import one, record
from gpukit.grading.collecting import Submission
from gpukit.grading.names import safe_name
from gpukit.grading.record import Record
from gpukit.labs import answers, running
from gpukit.labs.errors import LabError
from gpukit.labs.folders import Lab
from gpukit.provenance import CHECKOUT

CHILD = ("-P", "-m", "gpukit.grading.one")
SECONDS = 120.0  # of one submission; right ones need a few
RECORDS, STATE = "records", "batch.json"
Progress = Callable[[str, int, int], None]


def fingerprint(lab: Lab) -> str:
    """A hash of what decides a grade: the lab's tests, solutions and given kernels."""
    digest = hashlib.sha256()
    for path in sorted(lab.path.glob("*")):
        if path.suffix in (".py", ".cu") and path.stem in ("test_lab", "solution", "given"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def seed_of(lab: Lab) -> int:
    """The seed of a batch for which none is named: always the same for a lab, and not to be known without its
    solution."""
    return int(fingerprint(lab)[:8], 16)


def grade(
    lab: Lab,
    found: Sequence[Submission],
    out: Path,
    seed: int,
    *,
    jobs: int | None = None,
    seconds: float = SECONDS,
    again: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> list[Record]:
    """The records of all submissions, in their order. Each is kept in `out`/records as soon as it is made.

    Args:
        jobs: submissions at a time, as many as there are cores by default.
        seconds: of one submission, past which its grading is stopped.
        again: grade what is graded already.
        progress: called with (student, done, total).

    Raises:
        LabError: the lab's own solution does not pass. GpukitError: a record cannot be written.
    """
    prove(lab, seed)
    files = {s.student: out / RECORDS / f"{safe_name(s.student)}.json" for s in found}
    _begin(out, lab, seed, again)
    known = {submission.student: _known(files[submission.student], submission) for submission in found}
    made = {student: one for student, one in known.items() if one is not None}
    open_ones = [submission for submission in found if submission.student not in made]
    progress("", len(made), len(found))
    children: set[subprocess.Popen] = set()
    with ThreadPoolExecutor(jobs or cores()) as pool:
        waiting = {pool.submit(_in_child, lab, one, seed, seconds, children): one for one in open_ones}
        try:
            for future in as_completed(waiting):
                submission = waiting[future]
                made[submission.student] = future.result()
                record.save(made[submission.student], files[submission.student])
                progress(submission.student, len(made), len(found))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in list(children):
                _end(child)
            raise
    return [made[submission.student] for submission in found]


def prove(lab: Lab, seed: int) -> None:
    """Raise LabError where the lab's solution fails one of its tests, in any language: then no grade would be just."""
    for language in lab.languages:
        with answers.answer(lab, answers.SOLUTION, language) as solution:
            for outcome in running.run(lab, solution, seed):
                if outcome.status != running.PASSED:
                    raise LabError(f"the solution fails {outcome.test.name}: {outcome.finding}", file=solution.file)


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _begin(out: Path, lab: Lab, seed: int, again: bool) -> None:
    """Make room for the records of a batch: those of an earlier one stay if they are still what they would be.

    Raises GpukitError where `out` holds another lab's.
    """
    key = {"lab": lab.name, "of": fingerprint(lab), "seed": seed, "gpukit": __version__}
    try:
        before = json.loads((out / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        before = {}
    if before.get("lab", lab.name) != lab.name:
        raise GpukitError(f"{out} holds the grades of {before['lab']}: name another folder with --out")
    if again or before != key:
        for path in (out / RECORDS).glob("*.json"):
            path.unlink()
    (out / RECORDS).mkdir(parents=True, exist_ok=True)
    write_whole(out / STATE, json.dumps(key) + "\n")


def _known(path: Path, submission: Submission) -> Record | None:
    """The record of a submission that is still as it was; None if there is none, or it was not graded to the end."""
    try:
        found = record.load(path)
    except GpukitError:
        return None
    same = (found.submission.file, found.submission.notes) == (submission.file, submission.notes)
    if not same or not found.complete or found.status == record.STOPPED:
        return None
    text = ""
    if submission.path is not None:
        try:
            text = one.source_of(submission.path)
        except GpukitError as error:
            return found if found.reason == error.message else None
    return found if found.source == text else None


def _in_child(lab: Lab, submission: Submission, seed: int, seconds: float, children: set[subprocess.Popen]) -> Record:
    """The record of one submission, made by a process of its own, which is among `children` meanwhile. Whatever happens
    to it, there is a record."""
    job = {
        "lab": str(lab.path.absolute()),
        "student": submission.student,
        "path": str(submission.path.absolute()) if submission.path else "",
        "file": submission.file,
        "notes": list(submission.notes),
        "problem": submission.problem,
        "seed": seed,
    }
    stopped = (lab, submission.student, seed, submission.file, submission.notes)
    process = subprocess.Popen(
        [sys.executable, *CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,
    )
    children.add(process)
    try:
        output, errors = process.communicate(json.dumps(job).encode(), timeout=seconds)
    except subprocess.TimeoutExpired:
        return one.stopped(*stopped, f"grading took longer than {seconds:g} s and was stopped")
    finally:
        _end(process)
        children.discard(process)
    try:
        return record.from_dict(json.loads(output))
    except (ValueError, GpukitError):
        return one.stopped(*stopped, _why(process.returncode, errors.decode(errors="replace")))


def _end(process: subprocess.Popen) -> None:
    """No process of the group is left, whatever it waits for."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, 9)
    process.kill()
    with process:  # closes what it was asked and answered through
        pass


def _environment() -> dict[str, str]:
    """What a child needs of the environment, so that the instructor's settings change no grade."""
    kept = ("PATH", "LD_LIBRARY_PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "CUDA_PATH", "CUDA_HOME")
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(_import_path()),
        "LC_ALL": "C.UTF-8",
    }


def _import_path() -> list[str]:
    """Where a child finds modules: as this process, but for the current folder, which may be that of the submissions,
    with a numpy.py among them. Where gpukit itself lies it is no such folder."""
    here = Path.cwd()
    places = [Path(place).absolute() for place in sys.path if place]
    return [str(place) for place in places if place != here or here == CHECKOUT]


def _why(code: int | None, errors: str) -> str:
    """A sentence about a child that gave no record."""
    last = next((line for line in reversed(errors.splitlines()) if line.strip()), "")
    if last.startswith(("MemoryError", "numpy._core._exceptions._ArrayMemoryError")):
        return "grading needed more memory than a submission may have"
    how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    return f"grading ended without a record ({how}){': ' + last[:200] if last else ''}"
