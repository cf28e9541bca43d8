"""How far a student has come: the text at the end of a run, and of a failure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from gpukit.labs.errors import NotStarted
from gpukit.labs.failures import number
from gpukit.labs.folders import Lab
from gpukit.labs.regions import task_key
from gpukit.labs.running import FAILED, NOT_STARTED, PASSED, Outcome
from gpukit.report.layout import near_path

DONE, WRONG, OPEN = "#", "x", "."


def failure_text(outcome: Outcome, lab: Lab, seed: int) -> str:
    """What a student reads of one failed test."""
    finding = outcome.finding
    assert finding is not None
    where = (
        f"{finding.file}:{finding.line}: "
        if finding.file and finding.line
        else f"{finding.file}: "
        if finding.file
        else ""
    )
    lines = [f"task {outcome.test.task}, {lab.tasks[outcome.test.task]}", f"{where}{finding}"]
    if outcome.test.hint:
        lines.append(f"  {'hint':<10}{outcome.test.hint}")
    lines.append(f"  {'again':<10}pytest {near_path(str(lab.path))} -k {outcome.test.name} --seed {seed}")
    return "\n".join(lines)


def bar(outcomes: Sequence[Outcome]) -> str:
    """A mark a task: # all its tests pass, x one fails, . not started."""
    tasks: dict[str, list[str]] = {}
    for outcome in outcomes:
        tasks.setdefault(outcome.test.task, []).append(outcome.status)
    return "".join(mark(tasks[task]) for task in sorted(tasks, key=task_key))


def mark(statuses: Collection[str]) -> str:
    """The mark of a task with tests of these statuses; open, too, where none has run."""
    if FAILED in statuses:
        return WRONG
    return DONE if statuses and NOT_STARTED not in statuses else OPEN


def next_task(outcomes: Sequence[Outcome]) -> Outcome | None:
    """The first outcome that is not passed, of the first task that has one."""
    return next((outcome for outcome in outcomes if outcome.status != PASSED), None)


def overview(found: Mapping[Lab, Sequence[Outcome]], everything: bool = False) -> Iterator[str]:
    """Lines for every lab: points, a mark a task, what is open and where, and what comes next.

    Labs that are not begun are one line, except the first of them; `everything` tells all of them in full.
    """
    first_new = True
    for lab, outcomes in found.items():
        got, most = sum(o.points for o in outcomes), sum(o.test.points for o in outcomes)
        head = f"{lab.name:<22}[{bar(outcomes)}] {number(got)} of {number(most)} points"
        open_task = next_task(outcomes)
        if open_task is None:
            yield f"{head}, complete"
            continue
        new = all(outcome.status == NOT_STARTED for outcome in outcomes)
        if new and not first_new and not everything:
            yield f"{head}, not started: pytest {near_path(str(lab.path))}"
            continue
        first_new = first_new and not new
        yield head
        yield from _open_tasks(outcomes)
        yield f"  next: {_next(lab, outcomes, open_task)}"


def _next(lab: Lab, outcomes: Sequence[Outcome], first: Outcome) -> str:
    found = {(o.finding.file, o.finding.line, o.finding.what) for o in outcomes if o.finding is not None}
    if len(found) == 1 and len(outcomes) > 1 and all(outcome.finding for outcome in outcomes):
        file, line, what = found.pop()  # nothing of the file could be tested
        return f"{file}:{line}: {what}" if line else f"{file}: {what}"
    return f"task {first.test.task}, {lab.tasks[first.test.task]}"


def _open_tasks(outcomes: Sequence[Outcome]) -> Iterator[str]:
    told: set[tuple[str, int]] = set()
    for outcome in outcomes:
        hole = outcome.hole
        if hole is None or (hole.file, hole.line) in told:
            continue
        told.add((hole.file, hole.line))
        waits = "" if hole.task == outcome.test.task else f" (task {outcome.test.task} waits for it)"
        yield f"  {NotStarted(hole)}{waits}"
        if outcome.test.hint:
            yield f"      hint: {outcome.test.hint}"
