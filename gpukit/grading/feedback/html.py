"""The feedback as a page."""

from __future__ import annotations

from gpukit.grading import wording
from gpukit.grading.feedback import content
from gpukit.grading.feedback.content import Task, Told
from gpukit.grading.page import badge, text
from gpukit.grading.page import page as whole_page
from gpukit.grading.record import AT_LEAST, FAILED, PASSED, Cost, HazardFound, Item, Record
from gpukit.report import layout
from gpukit.report.html import code

SEVERITY_CLASSES = {"error": "badge error", "warning": "badge", "note": "badge note"}
TASK_CLASSES = {PASSED: "task passed-task", FAILED: "task failed"}


def page(record: Record, *, title: str = "", alias: str = "") -> str:
    """The feedback of one student as a whole HTML document.

    `title` names the lab (default: the record's), `alias` is the student's name on the leaderboard ('' for none).
    """
    heading = title or record.lab
    parts = [
        f"<h1>{text(heading)}</h1>",
        f"<p>{text(record.student)}</p>",
        f'<p><span class="score">{content.score(record)}</span>'
        + (f" &nbsp; {content.passed(record)}" if content.passed(record) else "")
        + "</p>",
        _verdict(record),
        _look_first(record),
    ]
    if tasks := content.tasks(record):
        parts.append("<h2>Tasks</h2>")
        parts += map(_task, tasks)
        if any(item.counters for item in record.items):
            parts.append(f'<p class="dim">{BARS}</p>')
    parts.append(_source(record))
    if alias:
        parts.append(f"<p>On the leaderboard you are <b>{text(alias)}</b>.</p>")
    parts.append(f'<p class="dim"><small>{text(content.made_with(record))}</small></p>')
    return whole_page(f"{heading}: {record.student}", "".join(parts))


BARS = (
    "Bars: blue is what yours needs, orange what is over the limit (or missing to it), the line across it what the "
    "reference solution needs."
)


def _verdict(record: Record) -> str:
    notes = "".join(f"<li>{text(note)}</li>" for note in record.submission.notes)
    listed = f"<ul>{notes}</ul>" if notes else ""
    if not record.verdict:
        return listed
    state = record.status if record.complete else "interrupted"
    return f'<p class="first"><span class="badge error">{text(state)}</span> {text(record.verdict)}</p>{listed}'


def _look_first(record: Record) -> str:
    item = content.look_first(record)
    if item is None:
        return "<p>Every test passed.</p>" if record.graded and record.items else ""
    hint = f"<br>{text(item.hint)}" if item.hint else ""
    return (
        f'<div class="first"><b>Look first at task {text(item.task)}</b>{_at(item.line)}: '
        f"{text(wording.one_line(item.message))}{hint}</div>"
    )


def _at(line: int | None) -> str:
    return f', <a href="#L{line}">line {line}</a>' if line else ""


def _task(task: Task) -> str:
    label = f"{text(task.task)} {text(task.title)}"
    points = f"{wording.points(task.points)} of {wording.count_points(task.max_points)}"
    state = f'<span class="badge">{content.partly(task)}</span>' if content.partly(task) else badge(task.state)
    tests = "".join(map(_item, content.told(task)))
    if left := content.hazards_left(task):
        tests += f"<ul>{''.join(f'<li>{_hazard(hazard)}{_where(hazard)}</li>' for hazard in left)}</ul>"
    return (
        f'<section class="{TASK_CLASSES.get(task.state, "task")}"><h3>{label} {state} '
        f'<span class="dim q">{points}</span></h3>{tests}</section>'
    )


def _item(told: Told) -> str:
    item = told.item
    parts = [f"<p>{badge(item.status)} <code>{text(item.test)}</code></p>"] if told.named else []
    if told.message:
        parts.append(f"<pre>{text(told.message)}</pre>")
    if told.hint:
        parts.append(f"<p><b>Hint:</b> {text(told.hint)}</p>")
    if item.counters:
        parts.append(_counters(item))
    return "".join(parts)


def _hazard(hazard: HazardFound) -> str:
    return (
        f'<span class="{SEVERITY_CLASSES[hazard.severity]}">{hazard.severity}</span> <code>{text(hazard.kind)}</code> '
        f"{text(content.said(hazard))}"
    )


def _where(hazard: HazardFound) -> str:
    return f' (<a href="#L{hazard.line}">line {hazard.line}</a>)' if hazard.line else ""


def _counters(item: Item) -> str:
    rows = "".join(
        f'<tr><th scope="row">{text(wording.counter(name))}</th><td class="n">{wording.number(cost.got)}</td>'
        f'<td class="n">{wording.limit(cost)}</td><td class="n">{wording.number(cost.reference)}</td>'
        f"<td>{bar(cost)}</td><td>{_kept(cost)}</td></tr>"
        for name, cost in item.counters.items()
    )
    head = (
        '<tr><th scope="col">counter</th><th scope="col" class="n">yours</th><th scope="col" class="n">limit</th>'
        '<th scope="col" class="n">reference</th><td></td><td></td></tr>'
    )
    return f'<div class="scroll"><table class="grid">{head}{rows}</table></div>'


def _kept(cost: Cost) -> str:
    return cost.verdict if cost.kept else f'<span class="badge">{cost.verdict}</span>'


def bar(cost: Cost) -> str:
    """What is needed and what is over the limit (or missing to it), with a line at the reference's."""
    full = max(cost.got, cost.allowed, cost.reference) or 1
    if cost.way == AT_LEAST:
        blue, orange = cost.got, max(cost.allowed - cost.got, 0)
    else:
        blue, orange = min(cost.got, cost.allowed), max(cost.got - cost.allowed, 0)
    return (
        f'<span class="bar wide" aria-hidden="true"><i style="width:{100 * blue / full:.1f}%"></i>'
        f'<i style="width:{100 * orange / full:.1f}%"></i>'
        f'<b style="left:calc({100 * cost.reference / full:.1f}% - 1px)"></b></span>'
    )


def _source(record: Record) -> str:
    lines = content.source(record)
    if not lines:
        return ""
    columns = content.columns(record, lines)
    head = '<tr><th class="n" scope="col">line</th><th scope="col">source</th>' + "".join(
        f'<th class="n" scope="col" title="{text(c.help)}">{"<br>".join(map(text, c.heading))}</th>' for c in columns
    )
    rows = []
    tokens = layout.source_tokens([line.report for line in lines])
    for line, styled in zip(lines, tokens, strict=True):
        number = line.report.number
        cells = "".join(f'<td class="n">{column.text(line.report)}</td>' for column in columns)
        opening = f'<tr id="L{number}" class="flagged">' if line.hazards else f'<tr id="L{number}">'
        rows.append(f'{opening}<td class="n dim">{number}</td><td class="code">{code(styled)}</td>{cells}</tr>')
        for hazard in line.hazards:
            rows.append(f'<tr class="remark"><td></td><td colspan="{1 + len(columns)}">{_hazard(hazard)}</td></tr>')
    legend = (
        '<p class="dim">The numbers are of the tests above; a line that several tests ran has those of one that failed.'
        "</p>"
        if columns
        else ""
    )
    more = f'<p class="dim">{content.left_out(record)}</p>' if content.left_out(record) else ""
    return (
        f"<h2>Your file</h2>{legend}"
        f'<div class="scroll" tabindex="0" role="region" aria-label="Your file, line by line">'
        f'<table class="source">{head}</tr>{"".join(rows)}</table></div>{more}'
    )
