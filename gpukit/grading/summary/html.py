"""The summary of a class as pages: one for the projector, without names, and one for the instructor alone."""

from __future__ import annotations

import base64

from gpukit.grading.page import page as whole_page
from gpukit.grading.page import text
from gpukit.grading.summary.markdown import RATIO_NOTE, SIMILAR_NOTE, cost_cells, share
from gpukit.grading.summary.model import Summary

# 24 px are 18 points: text that the last row reads.
PROJECTED = """
.gpukit-report{font-size:24px;max-width:1400px}
.gpukit-report h1{font-size:1.5em}.gpukit-report pre{font-size:.85em}
.gpukit-report td.num,.gpukit-report th.num{text-align:right;white-space:nowrap}
.gpukit-report ol{padding-left:1.2em}.gpukit-report ol>li{margin:.5em 0}
.gpukit-report .stack{display:flex;height:.9em;width:9em;gap:2px;margin-top:.3em}
.gpukit-report .stack i{height:100%}.gpukit-report .stack .p{background:#0072b2}
.gpukit-report .stack .f{background:#e69f00}
.gpukit-report .stack .n{background:rgba(128,128,128,.45)}
@media print{.gpukit-report{font-size:12pt}}
"""
FIGURE_TEXT = (
    "Bars of how many passed each task, and histograms of each counter over the reference solution's; the tables "
    "below have the numbers."
)


def page(summary: Summary, figure: bytes = b"") -> str:
    """The page for the class; `figure` is the figure as PNG."""
    parts = [f"<h1>{text(summary.title)}: the class</h1>", f"<p>{summary.headline()}</p>"]
    if summary.others():
        parts.append(f'<p class="dim">{summary.others()}</p>')
    if summary.talks:
        parts.append("<h2>Talk about</h2><ol>")
        for talk in summary.talks:
            said = "<br>".join(map(text, talk.evidence))
            code = f"<pre>{text(talk.code)}</pre>" if talk.code else ""
            parts.append(f"<li><b>{text(talk.heading)}</b><br>{said}{code}</li>")
        parts.append("</ol>")
    if figure:
        data = base64.b64encode(figure).decode()
        parts.append(f'<figure><img alt="{FIGURE_TEXT}" src="data:image/png;base64,{data}"></figure>')
    parts += [_tasks(summary), _hazards(summary), _costs(summary)]
    return whole_page(f"{summary.title}: the class", "".join(parts), PROJECTED)


def _table(header: list[str], rows: list[list[str]], right: int = 0) -> str:
    """Cells are HTML already; the last `right` columns are numbers."""
    left = len(header) - right
    head = "".join(f'<th scope="col"{_class(place >= left)}>{cell}</th>' for place, cell in enumerate(header))
    body = "".join(
        "<tr>" + "".join(f"<td{_class(place >= left)}>{cell}</td>" for place, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table class="grid"><tr>{head}</tr>{body}</table></div>'


def _class(is_number: bool) -> str:
    return ' class="num"' if is_number else ""


def _tasks(summary: Summary) -> str:
    if not summary.tasks:
        return ""
    rows = []
    for rate in summary.tasks:
        parts = (("p", rate.passed), ("f", rate.failed), ("n", rate.not_started))
        stack = "".join(f'<i class="{name}" style="flex:{part}"></i>' for name, part in parts if part)
        numbers = [share(part, rate.total) for _, part in parts]
        rows.append(
            [text(f"{rate.task} {rate.title}"), f'<div class="stack" aria-hidden="true">{stack}</div>', *numbers]
        )
    return "<h2>Tasks</h2>" + _table(["task", "", "passed", "failed", "not started"], rows, right=3)


def _hazards(summary: Summary) -> str:
    if not summary.hazards:
        return ""
    rows = [
        [
            f"<code>{text(rate.kind)}</code>",
            text(", ".join(rate.tasks)),
            f"<code>{text(rate.code)}</code>" if rate.code else "",
            share(rate.students, summary.graded),
        ]
        for rate in summary.hazards
    ]
    return "<h2>Hazards</h2>" + _table(["hazard", "in tasks", "such a line", "submissions"], rows, right=1)


def _costs(summary: Summary) -> str:
    if not summary.costs:
        return ""
    rows = [[text(rate.name), *cost_cells(rate)] for rate in summary.costs]
    header = ["counter", "measured", "within the limit", "best", "median", "worst", "limit"]
    return f'<h2>Costs</h2><p class="dim">{RATIO_NOTE}</p>' + _table(header, rows, right=6)


def looks(summary: Summary) -> str:
    """The page for the instructor alone: with names."""
    heading = f"{summary.title}: submissions that need a look"
    parts = [f"<h1>{text(heading)}</h1>", "<p>With names: not for the class.</p>"]
    if summary.looks:
        rows = [[text(look.student), text(look.why)] for look in summary.looks]
        parts.append("<h2>Not graded to the end</h2>" + _table(["student", "why"], rows))
    if summary.similar:
        rows = [
            [
                "<br>".join(map(text, group.students)),
                "the same file" if group.identical else "the same but for names, comments and blanks",
            ]
            for group in summary.similar
        ]
        parts.append(f"<h2>Equal files</h2><p>{SIMILAR_NOTE}</p>" + _table(["students", "how"], rows))
    if summary.noted:
        rows = [[text(look.student), text(look.why)] for look in summary.noted]
        parts.append("<h2>Notes</h2>" + _table(["student", "note"], rows))
    if not summary.looks and not summary.similar and not summary.noted:
        parts.append("<p>None does.</p>")
    return whole_page(heading, "".join(parts))
