"""A comparison of both levels in a notebook, or as a web page."""

from __future__ import annotations

from html import escape

from gpukit.comparison import layout
from gpukit.comparison.model import LABELS, Difference, LevelComparison
from gpukit.report import layout as report_layout
from gpukit.report.html import code, document, framed
from gpukit.report.model import LineReport


def fragment(comparison: LevelComparison) -> str:
    """The comparison as one `<div>` with its style, for `_repr_html_`."""
    return framed(_body(comparison))


def page(comparison: LevelComparison) -> str:
    """The comparison as a whole HTML document."""
    return document(comparison.source.kernel, _body(comparison))


def _body(comparison: LevelComparison) -> str:
    return "".join(
        (
            _heading(comparison),
            _totals(comparison),
            _source(comparison),
            _results(comparison),
            f'<p class="dim">{escape(report_layout.ASSEMBLER_NOTE)}</p>',
        )
    )


def _heading(comparison: LevelComparison) -> str:
    source = comparison.source
    lines = [
        f"<b>{escape(source.kernel)}</b> {escape(report_layout.short_path(source.file))} source level beside compiled "
        f"level: {escape(layout.summary(comparison))}",
        f'<span class="dim">{escape(layout.title(comparison))}</span>',
    ]
    if source.arguments:
        lines.append(f'<span class="dim">{escape(report_layout.arguments(source))}</span>')
    return f'<p class="head">{"<br>".join(lines)}</p>'


def _totals(comparison: LevelComparison) -> str:
    rows = "".join(
        f'<tr><td class="q">{LABELS[total.counter]}</td><td class="n">{total.source:,}</td>'
        f'<td class="n">{total.compiled:,}</td><td class="n">{_change(total)}</td>'
        f"<td>{escape(layout.kinds(total.reasons))}</td></tr>"
        for total in comparison.totals
    )
    head = (
        '<tr class="dim"><td>counter</td><td class="n">source level</td><td class="n">compiled</td><td></td>'
        "<td>what the compiler did</td></tr>"
    )
    return f"<table>{head}{rows}</table>"


def _change(difference: Difference) -> str:
    text = escape(layout.change(difference))
    return text if difference.equal else f'<span class="badge">{text}</span>'


def _source(comparison: LevelComparison) -> str:
    lines = [LineReport(line.file, line.number, line.text) for line in comparison.lines]
    tokens = report_layout.source_tokens(lines)
    gaps = report_layout.gaps_between(comparison.source.file, lines)
    rows = []
    for line, text, gap in zip(comparison.lines, tokens, gaps, strict=True):
        if gap is not None:
            rows.append(f'<tr><td></td><td class="dim">{escape(gap)}&nbsp;</td></tr>')
        front = f'<td class="n dim">{line.number}</td><td class="code">{code(text)}</td>'
        shown: list[Difference | None] = [*line.counters] or [None]
        before = None
        for difference in shown:
            rows.append(f"{_opening(difference)}{front}{_cells(difference, before)}</tr>")
            front, before = "<td></td><td></td>", difference
    head = (
        '<tr><th class="n">line</th><th>source</th><th></th><th class="n">source<br>level</th>'
        '<th class="n">compiled<br>level</th><th>why</th></tr>'
    )
    return f'<div class="scroll"><table class="source levels">{head}{"".join(rows)}</table></div>'


def _opening(difference: Difference | None) -> str:
    return "<tr>" if difference is None or difference.equal else '<tr class="flagged">'


def _cells(difference: Difference | None, before: Difference | None) -> str:
    """A counter's cells; reasons that are the same as in the row before are not said again."""
    if difference is None:
        return '<td colspan="4"></td>'
    again = before is not None and before.reasons == difference.reasons
    why = "" if again else "<br>".join(map(escape, layout.sentences(difference.reasons)))
    return (
        f'<td class="q">{LABELS[difference.counter]}</td><td class="n">{difference.source:,}</td>'
        f'<td class="n">{difference.compiled:,}</td><td class="why">{why}</td>'
    )


def _results(comparison: LevelComparison) -> str:
    if not comparison.results:
        return ""
    found = "; ".join(escape(layout.result(result)) for result in comparison.results)
    return f"<p><b>Results of the two levels</b> {found}</p>"
