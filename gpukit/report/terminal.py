"""The report in a terminal or a pipe (rich). Words carry the meaning, colour only repeats it."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpukit.gpus import DEFAULT_GPU
from gpukit.report import answers, layout
from gpukit.report.answers import Place
from gpukit.report.model import Report

if TYPE_CHECKING:
    from gpukit.machine.hazards import Hazard
    from gpukit.report.layout import Remark, Token

TEXT_WIDTH = 100
COMPACT_BELOW = 110  # narrower terminals get 227k instead of 227,328 in the source table
MARKS_PER_LINE = 2

# Backgrounds of their own, so that they read on a light and on a dark terminal alike.
STATE_STYLES = {answers.OK: "", answers.INFO: "", answers.LOOK: "black on bright_yellow"}
MARK_STYLES = {"E": "bold white on red", "W": "black on bright_yellow", "N": "reverse"}
TOKEN_STYLES = {"keyword": "bold", "comment": "dim", "number": "cyan", "string": "green", "": ""}


def to_text(report: Report, width: int = TEXT_WIDTH, gpu: str = DEFAULT_GPU, hazards_only: bool = False) -> str:
    """The terminal view as plain text: no colour codes, no trailing blanks."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, legacy_windows=False)
    show(report, console, gpu, hazards_only=hazards_only)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def show(report: Report, console: Console, gpu: str = DEFAULT_GPU, note: str = "", hazards_only: bool = False) -> None:
    """Print the report for the console's width.

    `note` says which launches it stands for, where they are several; `hazards_only` leaves out counters, source and
    notes.
    """
    console.print(render(report, console.width, gpu, note, hazards_only), highlight=False)


def show_hazards(reports: Sequence[tuple[Report, int]], launches: int, console: Console) -> None:
    """Print every distinct hazard of a program once, errors first, with how many of its launches it showed up in."""
    found: dict[tuple, tuple[Report, Hazard]] = {}
    often: dict[tuple, int] = defaultdict(int)
    for report, times in reports:
        here = {(report.kernel, hazard.kind, hazard.file, hazard.line): hazard for hazard in report.hazards}
        for key, hazard in here.items():
            found.setdefault(key, (report, hazard))
            often[key] += times
    for severity, style in (("error", MARK_STYLES["E"]), ("warning", MARK_STYLES["W"])):
        for key, (report, hazard) in found.items():
            if hazard.severity == severity:
                where = f"{layout.near_path(hazard.file or report.file)}:{hazard.line}: "
                head = Text.assemble(where, (severity, style), f": {hazard.kind} in ", (report.kernel, "bold"))
                head.append(f", in {often[key]:,} of {launches:,} launches" if launches > 1 else "")
                console.print(head, soft_wrap=True)
                if source := _source_line(report, Place(hazard.file or report.file, hazard.line)):
                    console.print(Text(f"      {source}"), soft_wrap=True)
                console.print(Padding(Text(layout.message(hazard)), (0, 0, 0, 4)))
                console.print()
    severities = [hazard.severity for _, hazard in found.values()]
    console.print(
        f"gpukit check: {answers.count(launches, 'launch', 'launches')}, "
        f"{answers.count(severities.count('error'), 'error')}, "
        f"{answers.count(severities.count('warning'), 'warning')}",
        highlight=False,
    )


def show_overview(launches: Sequence[tuple[Report, int]], console: Console, gpu: str = DEFAULT_GPU) -> None:
    """Print what a program launched: a line per kernel and shape, with how often, and what to look at first."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading, justify in (("kernel", "left"), ("grid", "left"), ("block", "left"), ("launches", "right")):
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("look first at", overflow="fold")
    for report, times in launches:
        first = answers.look_first(report, gpu)
        look = Text("-") if first is None else Text.assemble((_where(report, first[0]), "bold"), f": {first[1]}")
        table.add_row(report.kernel, layout.shape(report.grid), layout.shape(report.block), f"{times:,}", look)
    console.print(table, highlight=False)


def render(
    report: Report, width: int, gpu: str = DEFAULT_GPU, note: str = "", hazards_only: bool = False
) -> RenderableType:
    """Answers first, then the annotated source, then hazards and findings as sentences."""
    listed = layout.remarks(report)
    parts: list[RenderableType] = [_heading(report, note)]
    if hazards_only:
        parts += _remark_lists([remark for remark in listed if remark.hazard.severity != "note"], report)
        return Group(*parts)
    parts.append(_answers(report, gpu))
    if report.level == "compiled":
        parts += _counters(report, width)
    first = answers.look_first(report, gpu)
    if first is not None:
        parts.append(_look_first(report, *first))
    if layout.rows(report):
        parts.append(_source(report, listed, width))
    parts += _remark_lists(listed, report)
    if report.output:
        lines = (Text(f"  {line}") for line in layout.printed(report))
        parts.append(Group(Text("\nPrinted by the kernel", style="bold"), *lines))
    return Group(*parts)


def _heading(report: Report, note: str) -> RenderableType:
    head = Text()
    head.append(report.kernel, style="bold")
    head.append(f"  {layout.short_path(report.file)}  {f'({note})  ' if note else ''}")
    style = MARK_STYLES["E"] if report.errors else MARK_STYLES["W"] if report.warnings else ""
    head.append(f" {layout.summary(report)} " if style else layout.summary(report), style=style)
    lines = [head, Text(layout.title(report))]
    if report.arguments:
        lines.append(Text(layout.arguments(report)))
    return Group(*lines)


def _answers(report: Report, gpu: str) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for answer in answers.answers(report, gpu):
        style = STATE_STYLES[answer.state]
        word = answer.verdict.upper() if answer.state == answers.LOOK else answer.verdict
        proof = Text(answer.proof)
        if answer.place is not None:
            proof.append("; ")
            proof.append(f"look at {_where(report, answer.place)}", style="bold")
        table.add_row(Text(answer.question), Text.assemble((f" {word} ", style)), proof)
    return Padding(table, (1, 0, 0, 0))


def _counters(report: Report, width: int) -> list[RenderableType]:
    """The counters as Nsight Compute names them, and what may still differ from its reading."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("counter", no_wrap=True)
    table.add_column("loads", justify="right", no_wrap=True)
    table.add_column("stores", justify="right", no_wrap=True)
    table.add_column("in Nsight Compute (stores: _st)", style="dim", overflow="fold")
    rows = [
        (row.label, f"{row.load:,}", "" if row.store is None else f"{row.store:,}", row.metric)
        for row in layout.counter_rows(report)
    ]
    headings = ("counter", "loads", "stores")
    taken = sum(max(map(len, column)) + 2 for column in zip(headings, *(row[:3] for row in rows), strict=True))
    for *cells, metric in rows:
        table.add_row(*cells, _broken(metric, width - taken))
    heading = Text(f"\n{layout.COMPILED_HEADING}", style="bold")
    return [heading, *([table] if table.rows else []), Text(layout.ASSEMBLER_NOTE, style="dim")]


def _broken(metric: str, width: int) -> str:
    """A metric's name, in two lines that break between words where one has not the room."""
    at = metric.rfind("_", 0, width) if len(metric) > width else -1
    return metric if at <= 0 else f"{metric[:at]}\n  {metric[at:]}"


def _look_first(report: Report, place: Place, reason: str) -> RenderableType:
    text = Text("\nLook first at ", style="bold")
    text.append(f"{_where(report, place)}: {reason}", style="bold")
    source = _source_line(report, place)
    if source:
        text.append(f"\n    {source}")
    return text


def _source_line(report: Report, place: Place) -> str:
    return next((line.text.strip() for line in report.lines if Place(line.file, line.number) == place), "")


def _where(report: Report, place: Place) -> str:
    return f"line {place.line}" if place.file == report.file else f"{layout.short_path(place.file)}:{place.line}"


def _source(report: Report, listed: list[Remark], width: int) -> RenderableType:
    narrow = width < COMPACT_BELOW
    number_format = layout.compact if narrow else layout.exact
    shown = layout.columns(report)
    headings = [column.short_heading if narrow else column.heading for column in shown]
    rows = layout.rows(report)
    cells = [[column.text(line, number_format) for column in shown] for line in rows]
    marks = layout.marks_by_place(report, listed)
    at_lines = [marks.get(Place(line.file, line.number), []) for line in rows]

    mark_width = max((len(_short_marks(names)) for names in at_lines), default=0)
    number_width = max(len("line"), *(len(str(line.number)) for line in rows))
    column_widths = [
        max(len(text) for text in (*heading, *(row[place] for row in cells))) for place, heading in enumerate(headings)
    ]
    source = layout.source_tokens(rows)
    used = number_width + 1 + sum(size + 1 for size in column_widths) + (mark_width + 1 if mark_width else 0)
    longest = max((sum(len(text) for _, text in tokens) for tokens in source), default=0)
    source_width = max(20, min(longest + 1, width - used))

    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, collapse_padding=True, header_style="dim")
    if mark_width:
        table.add_column(width=mark_width, no_wrap=True)
    table.add_column("\nline", justify="right", width=number_width, no_wrap=True, style="dim")
    table.add_column("\nsource", width=source_width, no_wrap=True, overflow="ellipsis")
    for heading, size in zip(headings, column_widths, strict=True):
        table.add_column("\n".join(heading), justify="right", width=size, no_wrap=True)

    gaps = layout.gaps(report)
    for line, tokens, names, row, gap in zip(rows, source, at_lines, cells, gaps, strict=True):
        if gap is not None:
            blank = [""] if mark_width else []
            table.add_row(*blank, "", Text(gap, style="dim"), *[""] * len(shown))
        front = [_marks_text(names)] if mark_width else []
        table.add_row(*front, str(line.number or ""), source_text(tokens), *row)
    return Padding(table, (1, 0, 0, 0))


def source_text(tokens: list[Token]) -> Text:
    """Source text with its styles."""
    return Text.assemble(*((text, TOKEN_STYLES[style]) for style, text in tokens))


def _short_marks(names: list[str]) -> str:
    more = f"+{len(names) - MARKS_PER_LINE}" if len(names) > MARKS_PER_LINE else ""
    return " ".join(names[:MARKS_PER_LINE]) + more


def _marks_text(names: list[str]) -> Text:
    text = Text(_short_marks(names))
    for letter, style in MARK_STYLES.items():
        text.highlight_regex(rf"{letter}\d+", style)
    return text


def _remark_lists(listed: list[Remark], report: Report) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for letter, heading in (("E", "Errors"), ("W", "Warnings"), ("N", "Findings")):
        group = [remark for remark in listed if remark.mark[0] == letter]
        if not group:
            continue
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for remark in group[: layout.LIST_LIMIT]:
            table.add_row(Text(remark.mark, style=MARK_STYLES[letter]), Text(layout.sentence(report, remark.hazard)))
        left = len(group) - layout.LIST_LIMIT
        if left > 0:
            table.add_row("", Text(f"... and {left:,} more"))
        parts += [Text(f"\n{heading}", style="bold"), table]
    return parts
