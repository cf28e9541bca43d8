"""The summary of a class as Markdown: for the class, and for the instructor alone."""

from __future__ import annotations

from statistics import median

from gpukit.grading import markdown
from gpukit.grading.summary.model import CostRate, Summary

SIMILAR_NOTE = (
    "Short answers may be the same by honest work: this is a reason to look at the files, not a verdict. Skeletons as "
    "handed out are left out."
)
RATIO_NOTE = (
    "Ratios are to the reference solution: 1.0 is as good, 2.0 twice as costly (of counters with a lower limit: half "
    "as good). Where one of the two is 0, both count one more."
)


def share(part: int, whole: int) -> str:
    """ "12 (40%)" """
    return f"{part} ({part / whole:.0%})" if whole else f"{part}"


def to_markdown(summary: Summary, figure: str = "") -> str:
    """The summary for the class, without names; `figure` is the file of the figure."""
    parts = [f"# {markdown.text(summary.title)}: the class", summary.headline()]
    if summary.others():
        parts.append(summary.others())
    if figure:
        parts.append(f"![Task by task, and costs relative to the reference]({figure})")
    if summary.talks:
        parts.append("## Talk about")
        for number, talk in enumerate(summary.talks, 1):
            lines = [f"{number}. **{markdown.text(talk.heading)}**"]
            lines += [f"   * {markdown.text(sentence)}" for sentence in talk.evidence]
            if talk.code:
                lines.append(f"   * {markdown.code(talk.code)}")
            parts.append("\n".join(lines))
    if summary.tasks:
        rows = [
            [
                markdown.text(f"{rate.task} {rate.title}"),
                *(share(part, rate.total) for part in (rate.passed, rate.failed, rate.not_started)),
            ]
            for rate in summary.tasks
        ]
        parts += ["## Tasks", markdown.table(["task", "passed", "failed", "not started"], rows, right=3)]
    if summary.hazards:
        hazard_rows = [
            [
                markdown.cell(rate.kind),
                rate.severity,
                ", ".join(map(markdown.text, rate.tasks)),
                markdown.cell(rate.code) if rate.code else "",
                share(rate.students, summary.graded),
            ]
            for rate in summary.hazards
        ]
        header = ["hazard", "severity", "in tasks", "such a line", "submissions"]
        parts += ["## Hazards", markdown.table(header, hazard_rows, right=1)]
    if summary.costs:
        cost_rows = [[markdown.text(rate.name), *cost_cells(rate)] for rate in summary.costs]
        header = ["counter", "measured", "within the limit", "best", "median", "worst", "limit"]
        parts += ["## Costs", RATIO_NOTE, markdown.table(header, cost_rows, right=6)]
    return "\n\n".join(parts) + "\n"


def cost_cells(rate: CostRate) -> list[str]:
    """How many were measured, how many kept the limit, best, median and worst ratio, and the limit."""
    return [
        str(len(rate.ratios)),
        share(rate.kept, len(rate.ratios)),
        *(f"{value:,.2f}" for value in (rate.ratios[0], median(rate.ratios), rate.ratios[-1])),
        f"{rate.allowed:,.2f}",
    ]


def looks(summary: Summary) -> str:
    """Who needs a look and why: for the instructor alone."""
    parts = [f"# {markdown.text(summary.title)}: submissions that need a look", "With names: not for the class."]
    if summary.looks:
        rows = [[markdown.text(look.student), markdown.text(look.why)] for look in summary.looks]
        parts += ["## Not graded to the end", markdown.table(["student", "why"], rows)]
    if summary.similar:
        rows = [
            [
                ", ".join(map(markdown.text, group.students)),
                "the same file" if group.identical else "the same but for names",
            ]
            for group in summary.similar
        ]
        parts += ["## Equal files", SIMILAR_NOTE, markdown.table(["students", "how"], rows)]
    if summary.noted:
        rows = [[markdown.text(look.student), markdown.text(look.why)] for look in summary.noted]
        parts += ["## Notes", markdown.table(["student", "note"], rows)]
    if not summary.looks and not summary.similar and not summary.noted:
        parts.append("None does.")
    return "\n\n".join(parts) + "\n"
