"""What the page and the Markdown of a feedback share: tasks, what to look at first, and the source with its remarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpukit.grading import wording
from gpukit.grading.record import FAILED, NOT_STARTED, PASSED, HazardFound, Item, Record
from gpukit.report import layout
from gpukit.report.model import LineReport

LINE_LIMIT = 3000  # lines of source that are shown
WIDTH_LIMIT = 400  # characters of a line that are shown


@dataclass(frozen=True, slots=True)
class Task:
    """The tests of a task together."""

    task: str
    title: str
    state: str
    points: float
    max_points: float
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of a test; `named` is False where it is all that its task says."""

    item: Item
    named: bool
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Column:
    """Numbers beside the source: two lines of heading, what they are, and the number of a line ('' for none)."""

    heading: tuple[str, str]
    help: str
    text: Callable[[LineReport], str]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the student's file; `report` holds its counters."""

    report: LineReport
    hazards: tuple[HazardFound, ...]


def tasks(record: Record) -> list[Task]:
    """The tasks of a record, in order; none of one that was not graded, whose tests all say the same."""
    groups: dict[str, list[Item]] = {}
    for item in record.items if record.graded else ():
        groups.setdefault(item.task, []).append(item)
    return [
        Task(
            task,
            items[0].title,
            wording.state_of(items),
            sum(item.points for item in items),
            sum(item.max_points for item in items),
            tuple(items),
        )
        for task, items in sorted(groups.items(), key=lambda group: wording.task_order(group[0]))
    ]


def partly(task: Task) -> str:
    """ "1 of 2 tests passed" where some did and some did not, else ''."""
    done = sum(item.status == PASSED for item in task.items)
    return f"{done} of {len(task.items)} tests passed" if 0 < done < len(task.items) else ""


def told(task: Task) -> list[Told]:
    """What there is to say of each test. A message or hint is said once, by the last test that has it. A task that was
    not begun needs no more than that, one that is passed no more than what it costs."""
    items = task.items[:1] if task.state == NOT_STARTED else task.items
    if task.state == PASSED:
        items = tuple(item for item in items if item.counters)
    found = []
    for place, item in enumerate(items):
        later = [other for other in items[place + 1 :] if other.status != PASSED]
        message = "" if any(item.message == other.message for other in later) else item.message
        hint = "" if item.status == PASSED or any(item.hint == other.hint for other in later) else item.hint
        found.append(Told(item, len(items) > 1, message, hint))
    return found


def look_first(record: Record) -> Item | None:
    """The test to begin with: the first that failed, or else the first that was not begun."""
    ordered = [item for task in tasks(record) for item in task.items]
    for state in (FAILED, NOT_STARTED):
        if found := next((item for item in ordered if item.status == state), None):
            return found
    return None


def hazards_left(task: Task) -> list[HazardFound]:
    """Hazards that no message of the task tells of already; of a kind and line the first."""
    told = "\n".join(item.message for item in task.items)
    found: dict[tuple[str, int], HazardFound] = {}
    for hazard in (hazard for item in task.items for hazard in item.hazards):
        found.setdefault((hazard.kind, hazard.line), hazard)
    return [hazard for hazard in found.values() if hazard.message not in told]


def said(hazard: HazardFound) -> str:
    """A hazard's message for where its line stands already."""
    return hazard.message.removeprefix(f"line {hazard.line}: ")


def score(record: Record) -> str:
    """ "7 of 10 points" """
    return f"{wording.points(record.score)} of {wording.count_points(record.max_points)}"


def passed(record: Record) -> str:
    """How many tests passed, in words; '' for a record that was not graded."""
    if not record.graded or not record.items:
        return ""
    done = sum(item.status == PASSED for item in record.items)
    return f"{done} of {wording.count(len(record.items), 'test')} passed"


def made_with(record: Record) -> str:
    """What was graded and with what, so that it can be done again."""
    parts = []
    if record.submission.file:
        parts.append(f"graded file {record.submission.file} ({record.submission.language})")
    if record.submission.sha256:
        parts.append(f"SHA-256 {record.submission.sha256}")
    parts.append(f"seed {record.seed}")
    parts += [f"{name} {version}" for name, version in record.environment.items()]
    return "; ".join(parts)


# --- source ----------------------------------------------------------------------------------------------------------


def source(record: Record) -> list[SourceLine]:
    """The lines of the file, each with the hazards found at it and with its counters.

    Where several tests ran a line, the counters are those of a test that failed, else of one that measured cost.
    """
    file = "student.cu" if record.submission.language == "CUDA C++" else "student.py"
    hazards: dict[int, dict[str, HazardFound]] = {}
    for item in record.items:
        for hazard in item.hazards:
            hazards.setdefault(hazard.line, {}).setdefault(hazard.kind, hazard)
    counters: dict[int, dict] = {}
    for item in sorted(record.items, key=lambda item: (item.status == PASSED, not item.counters)):
        for number, values in item.lines.items():
            counters.setdefault(number, dict(values))
    lines = []
    for number, text in enumerate(wording.source_lines(record.source)[:LINE_LIMIT], 1):
        values = counters.get(number, {})
        lanes = values.pop("active_lanes", None)
        shown = text if len(text) <= WIDTH_LIMIT else text[:WIDTH_LIMIT] + " ..."
        lines.append(
            SourceLine(LineReport(file, number, shown, values, lanes), tuple(hazards.get(number, {}).values()))
        )
    return lines


def left_out(record: Record) -> str:
    """What is said under a source that is too long to be shown; '' for others."""
    more = len(wording.source_lines(record.source)) - LINE_LIMIT
    return f"... and {wording.count(more, 'more line')}" if more > 0 else ""


def columns(record: Record, lines: list[SourceLine]) -> list[Column]:
    """The counters that are over their limits, then those of the kernel report, as far as any line has them."""
    missed = dict.fromkeys(name for item in record.items for name, cost in item.counters.items() if not cost.kept)
    found = [
        Column(_heading(name), f"{wording.counter(name)}, which a test limits", _reader(name))
        for name in missed
        if any(line.report.counters.get(name) for line in lines)
    ]
    for column in layout.COLUMNS:
        if any(column.text(line.report, layout.exact) for line in lines):
            found.append(Column(column.heading, column.help, lambda line, c=column: c.text(line, layout.exact)))  # type: ignore[misc]
    return found


def _reader(name: str) -> Callable[[LineReport], str]:
    def text(line: LineReport) -> str:
        value = line.counters.get(name)
        return wording.number(value) if value else ""

    return text


def _heading(name: str) -> tuple[str, str]:
    """A counter's name in two lines."""
    words = wording.counter(name).split()
    half = -(-len(words) // 2)
    return " ".join(words[:half]), " ".join(words[half:])
