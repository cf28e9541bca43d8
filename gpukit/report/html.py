"""The report in a notebook: one self-contained fragment, no script, no outside file, readable on light and dark.

Text takes the page's own colour and every tint is translucent, so no guess about the theme is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from gpukit.gpus import DEFAULT_GPU
from gpukit.report import answers, layout
from gpukit.report.answers import Place
from gpukit.report.model import Report

if TYPE_CHECKING:
    from gpukit.report.layout import Remark, Token

# Blue and orange of Okabe and Ito's palette: told apart with every kind of colour vision. The last rules name the class
# twice to outweigh JupyterLab's, which sets tables flush right, in columns of one width, and stripes them.
STYLE = """
.gpukit-report{font:14px/1.45 system-ui,sans-serif;color:inherit;max-width:1100px}
.gpukit-report table{border-collapse:collapse;margin:.6em 0;width:auto;color:inherit;font:inherit}
.gpukit-report td,.gpukit-report th{background:none;color:inherit;border:0;padding:1px 8px;text-align:left;
vertical-align:top;white-space:normal}
.gpukit-report .head{margin:0}.gpukit-report .q{white-space:nowrap}.gpukit-report .dim{opacity:.7}
.gpukit-report .badge{background:#e69f00;color:#000;border-radius:3px;padding:0 5px;font-weight:600;white-space:nowrap}
.gpukit-report .error{background:#b3261e;color:#fff}.gpukit-report .note{background:#56b4e9;color:#000}
.gpukit-report .first{border-left:4px solid #e69f00;padding:2px 10px;margin:.6em 0}
.gpukit-report .scroll{overflow-x:auto}
.gpukit-report .source{font:12.5px/1.5 ui-monospace,Menlo,Consolas,monospace;width:100%}
.gpukit-report .source td,.gpukit-report .source th{white-space:pre;padding:0 6px}
.gpukit-report .source th{font-weight:400;opacity:.7;vertical-align:bottom}
.gpukit-report .n{text-align:right;font-variant-numeric:tabular-nums}
.gpukit-report .source td.code{width:99%;white-space:pre-wrap;overflow-wrap:anywhere;padding-left:3em;
text-indent:-2.4em}
.gpukit-report .levels td.code{width:auto;min-width:22em}.gpukit-report .levels td.why{white-space:normal;
min-width:20em;font-family:system-ui,sans-serif}
.gpukit-report .source .badge{font-size:10.5px;padding:0 3px}
.gpukit-report .source tr.flagged td{background:rgba(230,159,0,.14)}
.gpukit-report .source .k{font-weight:600}.gpukit-report .source .c{font-style:italic;opacity:.65}
.gpukit-report .bar{display:inline-block;width:54px;height:9px;text-indent:0;
background:rgba(128,128,128,.18);vertical-align:middle}
.gpukit-report .bar i{display:inline-block;height:9px;vertical-align:top;background:#0072b2}
.gpukit-report .bar i+i{background:#e69f00}
.gpukit-report pre{background:none;color:inherit;margin:.3em 0;font-size:12.5px}
.gpukit-report.gpukit-report td,.gpukit-report.gpukit-report th{text-align:left}
.gpukit-report.gpukit-report table{table-layout:auto}
.gpukit-report.gpukit-report .n{text-align:right}.gpukit-report.gpukit-report tbody tr{background:none}
"""

TOKEN_CLASSES = {"keyword": "k", "comment": "c"}
MARK_CLASSES = {"E": "badge error", "W": "badge", "N": "badge note"}


def fragment(report: Report, gpu: str = DEFAULT_GPU) -> str:
    """The report as one `<div>` with its style, for `_repr_html_`."""
    return framed(_body(report, gpu))


def page(reports: Sequence[tuple[Report, str]], gpu: str = DEFAULT_GPU) -> str:
    """Reports, each with a note on which launches it stands for ('' for one), as a whole HTML document that follows the
    reader's light or dark preference."""
    title = ", ".join(dict.fromkeys(report.kernel for report, _ in reports))
    return document(title, "<hr>".join(_body(report, gpu, note) for report, note in reports))


def document(title: str, body: str, head: str = "") -> str:
    """A whole HTML document of a report's content; `head` is what else its head holds."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"{head}<title>{escape(title)} - gpukit</title></head><body>{framed(body)}</body></html>\n"
    )


def framed(body: str) -> str:
    """A report's content with its style."""
    return f'<div class="gpukit-report"><style>{STYLE}</style>{body}</div>'


def _body(report: Report, gpu: str, note: str = "") -> str:
    listed = layout.remarks(report)
    return "".join(
        (
            _heading(report, note),
            _answers(report, gpu),
            _counters(report) if report.level == "compiled" else "",
            _look_first(report, gpu),
            _source(report, listed),
            _remark_lists(report, listed),
            _output(report),
        )
    )


def _heading(report: Report, note: str) -> str:
    launches = f"({escape(note)}) " if note else ""
    state = "badge error" if report.errors else "badge" if report.warnings else "dim"
    lines = [
        f"<b>{escape(report.kernel)}</b> {escape(layout.short_path(report.file))} {launches}"
        f'<span class="{state}">{escape(layout.summary(report))}</span>',
        f'<span class="dim">{escape(layout.title(report))}</span>',
    ]
    if report.arguments:
        lines.append(f'<span class="dim">{escape(layout.arguments(report))}</span>')
    return f'<p class="head">{"<br>".join(lines)}</p>'


def _answers(report: Report, gpu: str) -> str:
    rows = []
    for answer in answers.answers(report, gpu):
        verdict = escape(answer.verdict)
        if answer.state == answers.LOOK:
            verdict = f'<span class="badge">{verdict}</span>'
        place = f"; <b>look at {escape(_where(report, answer.place))}</b>" if answer.place else ""
        question = f'<td class="q">{escape(answer.question)}</td>'
        rows.append(f"<tr>{question}<td>{verdict}</td><td>{escape(answer.proof)}{place}</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def _counters(report: Report) -> str:
    """The counters as Nsight Compute names them, and what may still differ from its reading."""
    rows = "".join(
        f'<tr><td class="q">{escape(row.label)}</td><td class="n">{row.load:,}</td>'
        f'<td class="n">{"" if row.store is None else f"{row.store:,}"}</td>'
        f'<td class="dim"><code>{escape(row.metric)}</code></td></tr>'
        for row in layout.counter_rows(report)
    )
    head = (
        '<tr class="dim"><td>counter</td><td class="n">loads</td><td class="n">stores</td>'
        "<td>in Nsight Compute (stores: _st)</td></tr>"
    )
    table = f'<table class="counters">{head}{rows}</table>' if rows else ""
    return f'<b>{escape(layout.COMPILED_HEADING)}</b>{table}<p class="dim">{escape(layout.ASSEMBLER_NOTE)}</p>'


def _look_first(report: Report, gpu: str) -> str:
    first = answers.look_first(report, gpu)
    if first is None:
        return ""
    place, reason = first
    source = next((line.text.strip() for line in report.lines if Place(line.file, line.number) == place), "")
    code = f"<br><code>{escape(source)}</code>" if source else ""
    return f'<div class="first"><b>Look first at {escape(_where(report, place))}</b>: {escape(reason)}{code}</div>'


def _where(report: Report, place: Place) -> str:
    return f"line {place.line}" if place.file == report.file else f"{layout.short_path(place.file)}:{place.line}"


def _source(report: Report, listed: list[Remark]) -> str:
    lines = layout.rows(report)
    if not lines:
        return ""
    shown = layout.columns(report)
    shares = layout.work_shares(report)
    marks = layout.marks_by_place(report, listed)
    legend = "share of the warp instructions; orange: lanes that idle in them"
    head = (
        f'<tr><th></th><th class="n">line</th><th title="{legend}">work</th><th>source</th>'
        + "".join(f'<th class="n" title="{escape(c.help)}">{"<br>".join(map(escape, c.heading))}</th>' for c in shown)
        + "</tr>"
    )
    largest = max((share for share, _ in shares.values()), default=1)
    rows = []
    gaps, source = layout.gaps(report), layout.source_tokens(lines)
    for line, tokens, gap in zip(lines, source, gaps, strict=True):
        if gap is not None:
            rows.append(f'<tr><td colspan="3"></td><td class="dim">{escape(gap)}&nbsp;</td></tr>')
        place = Place(line.file, line.number)
        names = marks.get(place, [])
        badges = " ".join(f'<span class="{MARK_CLASSES[name[0]]}">{name}</span>' for name in names)
        numbers = "".join(f'<td class="n">{escape(column.text(line, layout.exact))}</td>' for column in shown)
        opening = '<tr class="flagged">' if names else "<tr>"
        rows.append(
            f"{opening}<td>{badges}</td>"
            f'<td class="n dim">{line.number or ""}</td><td>{_bar(shares.get(place), largest)}</td>'
            f'<td class="code">{code(tokens)}</td>{numbers}</tr>'
        )
    caption = f'<div class="dim">work: {legend}</div>' if shares else ""
    return f'<div class="scroll"><table class="source">{head}{"".join(rows)}</table></div>{caption}'


def _bar(share: tuple[float, float] | None, largest: float) -> str:
    """A bar as long as the line's share of the work (the longest line fills it), split into busy and idle lanes."""
    if share is None:
        return ""
    part, busy = share
    full = 100 * part / largest
    title = f"{part:.1%} of the warp instructions, {busy:.0%} of the lanes at work"
    return (
        f'<span class="bar" title="{title}"><i style="width:{full * busy:.1f}%"></i>'
        f'<i style="width:{full * (1 - busy):.1f}%"></i></span>'
    )


def code(tokens: list[Token]) -> str:
    """Source text with its styles."""
    pieces = []
    for style, text in tokens:
        css = TOKEN_CLASSES.get(style)
        pieces.append(f'<span class="{css}">{escape(text)}</span>' if css else escape(text))
    return "".join(pieces)


def _remark_lists(report: Report, listed: list[Remark]) -> str:
    parts = []
    for letter, heading in (("E", "Errors"), ("W", "Warnings"), ("N", "Findings")):
        group = [remark for remark in listed if remark.mark[0] == letter]
        if not group:
            continue
        rows = "".join(
            f'<tr><td><span class="{MARK_CLASSES[letter]}">{remark.mark}</span></td>'
            f"<td>{escape(layout.sentence(report, remark.hazard))}</td></tr>"
            for remark in group[: layout.LIST_LIMIT]
        )
        left = len(group) - layout.LIST_LIMIT
        more = f"<tr><td></td><td>... and {left:,} more</td></tr>" if left > 0 else ""
        parts.append(f"<b>{heading}</b><table>{rows}{more}</table>")
    return "".join(parts)


def _output(report: Report) -> str:
    if not report.output:
        return ""
    text = escape("\n".join(layout.printed(report)))
    return f"<b>Printed by the kernel</b><pre>{text}</pre>"
