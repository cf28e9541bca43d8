"""The feedback as Markdown."""

from __future__ import annotations

from gpukit.grading import markdown, wording
from gpukit.grading.feedback import content
from gpukit.grading.feedback.content import Task, Told
from gpukit.grading.record import HazardFound, Record


def to_markdown(record: Record, *, title: str = "", alias: str = "") -> str:
    """The feedback of one student; arguments as for the page."""
    parts = [f"# {markdown.text(title or record.lab)}", markdown.text(record.student)]
    parts.append(f"**{content.score(record)}**" + (f", {content.passed(record)}" if content.passed(record) else ""))
    if record.verdict:
        state = record.status if record.complete else "interrupted"
        parts.append(f"**{state}**: {markdown.text(record.verdict)}")
    if record.submission.notes:
        parts.append("\n".join(f"* {markdown.text(note)}" for note in record.submission.notes))
    first = content.look_first(record)
    if first is not None:
        where = f", line {first.line}" if first.line else ""
        said = markdown.text(wording.one_line(first.message))
        parts.append(f"**Look first at task {markdown.text(first.task)}{where}**: {said}")
    elif record.graded and record.items:
        parts.append("Every test passed.")
    if tasks := content.tasks(record):
        parts.append("## Tasks")
        for task in tasks:
            parts += _task(task)
    parts += _source(record)
    if alias:
        parts.append(f"On the leaderboard you are **{markdown.text(alias)}**.")
    parts.append(markdown.text(content.made_with(record)))
    return "\n\n".join(parts) + "\n"


def _task(task: Task) -> list[str]:
    points = f"{wording.points(task.points)} of {wording.count_points(task.max_points)}"
    parts = [f"### {markdown.text(f'{task.task} {task.title}')} ({content.partly(task) or task.state}, {points})"]
    for told in content.told(task):
        parts += _item(told)
    if left := content.hazards_left(task):
        parts.append("\n".join(f"* {_hazard(hazard)}" for hazard in left))
    return parts


def _item(told: Told) -> list[str]:
    item = told.item
    parts = [f"**{item.status}** {markdown.code(item.test)}"] if told.named else []
    if told.message:
        parts.append(markdown.block(told.message))
    if told.hint:
        parts.append(f"Hint: {markdown.text(told.hint)}")
    if item.counters:
        rows = [
            [
                markdown.text(wording.counter(name)),
                cost.verdict if cost.kept else f"**{cost.verdict}**",
                wording.number(cost.got),
                wording.limit(cost),
                wording.number(cost.reference),
            ]
            for name, cost in item.counters.items()
        ]
        parts.append(markdown.table(["counter", "", "yours", "limit", "reference"], rows, right=3))
    return parts


def _hazard(hazard: HazardFound) -> str:
    where = f"line {hazard.line}: " if hazard.line else ""
    return f"{hazard.severity} {markdown.code(hazard.kind)} {where}{markdown.text(content.said(hazard))}"


def _source(record: Record) -> list[str]:
    """The file as a block: under a line stands what was counted and found there."""
    lines = content.source(record)
    if not lines:
        return []
    columns = content.columns(record, lines)
    size = len(str(lines[-1].report.number))
    blank = " " * size
    shown = []
    for line in lines:
        shown.append(f"{line.report.number:>{size}} | {line.report.text}".rstrip())
        said = [(" ".join(filter(None, c.heading)), c.text(line.report)) for c in columns]
        if counted := "; ".join(f"{name}: {value}" for name, value in said if value):
            shown.append(f"{blank} :   {counted}")
        shown += [f"{blank} ! {wording.one_line(f'{hazard.kind}: {content.said(hazard)}')}" for hazard in line.hazards]
    if more := content.left_out(record):
        shown.append(more)
    language = "cuda" if record.submission.language == "CUDA C++" else "python"
    return ["## Your file", markdown.block("\n".join(shown), language)]
