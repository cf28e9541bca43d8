"""The figures of a class: counted once, shown as page, text and figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from gpukit.grading import wording
from gpukit.grading.record import (
    AT_LEAST,
    FAILED,
    GRADED,
    MISSING,
    NOT_STARTED,
    PASSED,
    SEVERITIES,
    STATUSES,
    HazardFound,
    Item,
    Record,
)
from gpukit.grading.summary import similarity

TALKS = 3


@dataclass(frozen=True, slots=True)
class TaskRate:
    """How many of the graded submissions passed a task, failed at it, did not begin it."""

    task: str
    title: str
    passed: int
    failed: int
    not_started: int

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.not_started


@dataclass(frozen=True, slots=True)
class HazardRate:
    """A kind of hazard: in how many submissions, in which tasks, and what one of them looks like. `code` is the line
    at which it was found, '' where none is known."""

    kind: str
    severity: str
    students: int
    tasks: tuple[str, ...]
    message: str
    code: str


@dataclass(frozen=True, slots=True)
class CostRate:
    """A counter of a cost test over the class: got over reference (see `record.Cost.ratio`), ascending. `allowed` is
    the limit in the same terms."""

    task: str
    test: str
    counter: str
    ratios: tuple[float, ...]
    allowed: float
    kept: int
    way: str

    @property
    def name(self) -> str:
        return f"{self.task} {wording.counter(self.counter)}"


@dataclass(frozen=True, slots=True)
class Talk:
    """Something to talk about in class: a heading, and the evidence in sentences; `code` is a line that shows it."""

    heading: str
    evidence: tuple[str, ...]
    code: str


@dataclass(frozen=True, slots=True)
class Look:
    """A submission that somebody should look at, and why."""

    student: str
    why: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A class. `statuses` counts the records of each status ("interrupted" for incomplete ones); `scores` are those of
    the graded ones, ascending. `looks` are submissions that were not graded, `noted` what collecting them noted."""

    title: str
    statuses: dict[str, int]
    scores: tuple[float, ...]
    max_points: float
    tasks: tuple[TaskRate, ...]
    hazards: tuple[HazardRate, ...]
    costs: tuple[CostRate, ...]
    talks: tuple[Talk, ...]
    looks: tuple[Look, ...]
    noted: tuple[Look, ...]
    similar: tuple[similarity.Group, ...]

    @property
    def graded(self) -> int:
        return self.statuses.get(GRADED, 0)

    def headline(self) -> str:
        """The class in a sentence."""
        if not self.graded:
            return "No submission could be graded."
        full = sum(score >= self.max_points for score in self.scores)
        return (
            f"{wording.count(self.graded, 'submission')} graded: the median is {wording.points(median(self.scores))} "
            f"of {wording.count_points(self.max_points)}, {full} {'has' if full == 1 else 'have'} full points."
        )

    def others(self) -> str:
        """What became of the rest, '' if there is none."""
        rest = [f"{number} {status}" for status, number in self.statuses.items() if status != GRADED]
        return f"Besides: {', '.join(rest)}." if rest else ""


def summarize(records: Sequence[Record], title: str = "") -> Summary:
    """The figures of a class. Rates are of the submissions that were graded to the end."""
    ordered = sorted(records, key=wording.student_order)
    graded = [record for record in ordered if record.graded]
    counted = Counter(record.status if record.complete else "interrupted" for record in ordered)
    hazards, costs, tasks = _hazards(graded), _costs(graded), _tasks(graded)
    similar = tuple(similarity.groups(graded))
    return Summary(
        title=title or (ordered[0].lab if ordered else "No submissions"),
        statuses={status: counted[status] for status in (*STATUSES, "interrupted") if counted[status]},
        scores=tuple(sorted(record.score for record in graded)),
        max_points=wording.max_points(ordered),
        tasks=tasks,
        hazards=hazards,
        costs=costs,
        talks=_talks(graded, tasks),
        looks=_looks(ordered),
        noted=tuple(Look(record.student, note) for record in ordered for note in record.submission.notes),
        similar=similar,
    )


def _tasks(graded: Sequence[Record]) -> tuple[TaskRate, ...]:
    states: dict[str, Counter[str]] = {}
    for record in graded:
        for task, items in _by_task(record).items():
            states.setdefault(task, Counter())[wording.state_of(items)] += 1
    return tuple(
        TaskRate(task, title, states[task][PASSED], states[task][FAILED], states[task][NOT_STARTED])
        for task, title in wording.titles(graded).items()
    )


def _by_task(record: Record) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = {}
    for item in record.items:
        found.setdefault(item.task, []).append(item)
    return found


def _hazards(graded: Sequence[Record], task: str = "") -> tuple[HazardRate, ...]:
    """Kinds of hazards (of one task), those of most submissions first; the example is the line that most have."""
    students: dict[str, set[str]] = {}
    tasks: dict[str, set[str]] = {}
    places: dict[str, list[tuple[str, HazardFound]]] = {}
    for record in graded:
        for item in record.items:
            for hazard in item.hazards if task in ("", item.task) else ():
                students.setdefault(hazard.kind, set()).add(record.student)
                tasks.setdefault(hazard.kind, set()).add(item.task)
                places.setdefault(hazard.kind, []).append((_code(record, hazard.line), hazard))
    rates = []
    for kind, found in places.items():
        code = Counter(code for code, _ in found).most_common(1)[0][0]
        example = next(hazard for line, hazard in found if line == code)
        where = tuple(sorted(tasks[kind], key=wording.task_order))
        message = example.message.removeprefix(f"line {example.line}: ")
        rates.append(HazardRate(kind, example.severity, len(students[kind]), where, message, code))
    return tuple(sorted(rates, key=lambda rate: (-rate.students, SEVERITIES.index(rate.severity), rate.kind)))


def _code(record: Record, line: int) -> str:
    lines = wording.source_lines(record.source)
    return lines[line - 1].strip()[:120] if 0 < line <= len(lines) else ""


def _costs(graded: Sequence[Record]) -> tuple[CostRate, ...]:
    found: dict[tuple[str, str, str], list] = {}
    for record in graded:
        for item in record.items:
            for name, cost in item.counters.items():
                found.setdefault((item.task, item.test, name), []).append(cost)
    rates = []
    for (task, test, name), costs in sorted(
        found.items(), key=lambda entry: (wording.task_order(entry[0][0]), entry[0][1])
    ):
        limits = [type(c)(c.allowed, c.allowed, c.reference, c.way).ratio for c in costs]
        ratios = tuple(sorted(round(cost.ratio, 4) for cost in costs))
        kept = sum(cost.kept for cost in costs)
        rates.append(CostRate(task, test, name, ratios, round(median(limits), 4), kept, costs[0].way))
    return tuple(rates)


def _talks(graded: Sequence[Record], tasks: Sequence[TaskRate]) -> tuple[Talk, ...]:
    """The tasks that most did not pass, each with what went wrong most often in it."""
    hard = sorted((t for t in tasks if t.passed < t.total), key=lambda t: (-(t.total - t.passed), tasks.index(t)))
    talks = []
    for rate in hard[:TALKS]:
        missed = rate.total - rate.passed
        begun = f", {rate.not_started} of them did not begin" if rate.not_started else ""
        evidence = [f"{missed} of {rate.total} did not pass{begun}."]
        code = ""
        serious = [hazard for hazard in _hazards(graded, rate.task) if hazard.severity != "note"]
        if serious:
            worst, code = serious[0], serious[0].code
            evidence.append(f"{wording.count(worst.students, 'submission')} with {worst.kind}: {worst.message}")
        over = [c for c in _costs(graded) if c.task == rate.task and c.kept < len(c.ratios)]
        if over:
            dear = max(over, key=lambda c: len(c.ratios) - c.kept)
            side = "below" if dear.way == AT_LEAST else "over"
            evidence.append(
                f"{len(dear.ratios) - dear.kept} of {len(dear.ratios)} measured are {side} the limit of "
                f"{wording.counter(dear.counter)}."
            )
        hints = [item.hint for record in graded for item in record.items if item.task == rate.task and item.hint]
        if hints:
            evidence.append(f"Ask: {hints[0]}")
        talks.append(Talk(f"{rate.task} {rate.title}", tuple(evidence), code))
    return tuple(talks)


def _looks(ordered: Sequence[Record]) -> tuple[Look, ...]:
    """What was not graded to the end, apart from what is simply missing; missing ones last."""
    odd = [record for record in ordered if record.verdict]
    odd.sort(key=lambda record: record.status == MISSING)
    return tuple(
        Look(record.student, f"{record.status if record.complete else 'interrupted'}: {record.verdict}")
        for record in odd
    )
