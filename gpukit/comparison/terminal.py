"""A comparison of both levels in a terminal or a pipe (rich)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpukit.comparison import layout
from gpukit.comparison.model import LABELS, Difference, LevelComparison
from gpukit.report import layout as report_layout
from gpukit.report.model import LineReport, Number
from gpukit.report.terminal import TEXT_WIDTH, source_text

if TYPE_CHECKING:
    from gpukit.comparison.layout import Mark

_DIFFERENT = "black on bright_yellow"


def to_text(comparison: LevelComparison, width: int = TEXT_WIDTH) -> str:
    """The terminal view as plain text: no colour codes, no trailing blanks."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, legacy_windows=False)
    show(comparison, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def show(comparison: LevelComparison, console: Console) -> None:
    """Print the comparison for the console's width."""
    console.print(render(comparison, console.width), highlight=False)


def render(comparison: LevelComparison, width: int) -> RenderableType:
    """Totals first, then the source with both counts at each line, then the reasons as sentences."""
    marked = layout.marks(comparison)
    parts = [_heading(comparison), _totals(comparison)]
    if any(line.counters for line in comparison.lines):
        parts.append(_source(comparison, marked, width))
    if marked:
        parts += [Text("\nDifferences", style="bold"), _reasons(comparison, marked)]
    if comparison.results:
        results = "; ".join(map(layout.result, comparison.results))
        parts.append(Text.assemble(("\nResults of the two levels  ", "bold"), results))
    return Group(*parts, Text(f"\n{report_layout.ASSEMBLER_NOTE}", style="dim"))


def _heading(comparison: LevelComparison) -> RenderableType:
    source = comparison.source
    head = Text.assemble((source.kernel, "bold"), f"  {report_layout.short_path(source.file)}  ")
    head.append(f"source level beside compiled level: {layout.summary(comparison)}")
    lines = [head, Text(layout.title(comparison))]
    if source.arguments:
        lines.append(Text(report_layout.arguments(source)))
    return Group(*lines)


def _totals(comparison: LevelComparison) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading, justify in (("counter", "left"), ("source level", "right"), ("compiled", "right"), ("", "right")):
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("what the compiler did", overflow="fold")
    for total in comparison.totals:
        change = Text(layout.change(total), style="" if total.equal else _DIFFERENT)
        kinds = layout.kinds(total.reasons)
        table.add_row(LABELS[total.counter], f"{total.source:,}", f"{total.compiled:,}", change, kinds)
    return Padding(table, (1, 0, 0, 0))


def _source(comparison: LevelComparison, marked: list[Mark], width: int) -> RenderableType:
    names = {(mark.file, mark.line, d.counter): mark.mark for mark in marked for d in mark.differences}
    lines = [LineReport(line.file, line.number, line.text) for line in comparison.lines]
    tokens = report_layout.source_tokens(lines)
    mark_width = max((len(mark.mark) for mark in marked), default=0)
    number_width = max(4, *(len(str(line.number)) for line in lines))
    counted = [difference for line in comparison.lines for difference in line.counters]
    label_width = max(len(LABELS[difference.counter]) for difference in counted)
    widths = [max(len("compiled"), *(len(f"{number:,}") for number in numbers)) for numbers in _sides(counted)]
    longest = max((sum(len(text) for _, text in line) for line in tokens), default=0)
    used = mark_width + number_width + label_width + sum(widths) + 5
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, collapse_padding=True, header_style="dim")
    table.add_column("\nline", justify="right", width=number_width, no_wrap=True, style="dim")
    table.add_column("\nsource", width=max(20, min(longest + 1, width - used)), no_wrap=True, overflow="ellipsis")
    table.add_column("", width=label_width, no_wrap=True)
    for heading, size in zip(("source\nlevel", "compiled\nlevel"), widths, strict=True):
        table.add_column(heading, width=size, justify="right", no_wrap=True)
    table.add_column("", width=mark_width, no_wrap=True)
    gaps = report_layout.gaps_between(comparison.source.file, lines)
    for line, compared, text, gap in zip(lines, comparison.lines, tokens, gaps, strict=True):
        if gap is not None:
            table.add_row("", Text(gap, style="dim"), "", "", "", "")
        front: list[str | Text] = [str(line.number), source_text(text)]
        if not compared.counters:
            table.add_row(*front, "", "", "", "")
        for difference in compared.counters:
            mark = names.get((line.file, line.number, difference.counter), "")
            numbers = (f"{difference.source:,}", f"{difference.compiled:,}")
            table.add_row(*front, LABELS[difference.counter], *numbers, Text(mark, style=_DIFFERENT if mark else ""))
            front = ["", ""]
    return Padding(table, (1, 0, 0, 0))


def _sides(counted: list[Difference]) -> tuple[list[Number], list[Number]]:
    return [difference.source for difference in counted], [difference.compiled for difference in counted]


def _reasons(comparison: LevelComparison, marked: list[Mark]) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for mark in marked:
        table.add_row(
            Text(mark.mark, style=_DIFFERENT), Text(f"{layout.where(comparison, mark)}: {layout.explanation(mark)}")
        )
    return table
