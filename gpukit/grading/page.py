"""Web pages about grades: one file each, no script, nothing from elsewhere, for light and dark screens and for paper.

They stand on the style of the kernel report and add what a whole page needs.
"""

from __future__ import annotations

from html import escape

from gpukit.grading.record import FAILED, NOT_STARTED, PASSED
from gpukit.grading.wording import visible
from gpukit.report.html import document

# Whatever a student's text might smuggle in: the browser loads nothing and runs nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
STYLE = """
body{margin:0}
.gpukit-report{font-size:16px;margin:0 auto;padding:16px 20px 48px;max-width:1100px}
.gpukit-report h1{font-size:1.6em;line-height:1.2;margin:.2em 0}
.gpukit-report h2{font-size:1.25em;margin:1.6em 0 .4em}
.gpukit-report h3{font-size:1.05em;margin:0 0 .3em}
.gpukit-report p{margin:.4em 0}.gpukit-report ul{margin:.3em 0;padding-left:1.3em}
.gpukit-report pre{font:13.5px/1.5 ui-monospace,Menlo,Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere;
margin:.4em 0;padding:8px 12px;background:rgba(128,128,128,.12);border-radius:4px}
.gpukit-report code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.92em;overflow-wrap:anywhere}
.gpukit-report .passed{background:#00734f;color:#fff}.gpukit-report .idle{background:#6b6b6b;color:#fff}
.gpukit-report .task{border-left:4px solid rgba(128,128,128,.4);padding:2px 0 2px 12px;margin:1em 0;
break-inside:avoid-page}
.gpukit-report .task.failed{border-color:#b3261e}.gpukit-report .task.passed-task{border-color:#00734f}
.gpukit-report .score{font-size:1.4em;font-weight:600}
.gpukit-report caption{text-align:left;padding:2px 8px}
.gpukit-report .grid .n{white-space:nowrap}
.gpukit-report .grid td,.gpukit-report .grid th{padding:3px 10px;border-bottom:1px solid rgba(128,128,128,.25)}
.gpukit-report .wide{width:170px;height:12px;position:relative;white-space:nowrap;font-size:0}
.gpukit-report .wide i{height:12px}
.gpukit-report .wide b{position:absolute;top:-3px;width:2px;height:18px;background:currentColor}
.gpukit-report .source tr.remark td{white-space:normal;padding-left:3em;font:14px/1.45 system-ui,sans-serif;
background:rgba(230,159,0,.14)}
.gpukit-report .source tr:target td{outline:2px solid #0072b2}
.gpukit-report .source td.code{min-width:40em}.gpukit-report a{color:inherit}
.gpukit-report figure{margin:1em 0}.gpukit-report img{max-width:100%;height:auto;background:#fff}
@media print{.gpukit-report{padding:0;max-width:none;font-size:11pt}
.gpukit-report *{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.gpukit-report .scroll{overflow:visible}
.gpukit-report .source td.code{min-width:0}.gpukit-report h2,.gpukit-report h3{break-after:avoid}
.gpukit-report tr{break-inside:avoid}}
"""
STATE_CLASSES = {PASSED: "badge passed", FAILED: "badge error", NOT_STARTED: "badge idle"}


def page(title: str, body: str, style: str = "") -> str:
    """A whole page; `style` is what it needs besides."""
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer"><meta name="robots" content="noindex">'
    )
    return document(visible(title), f"<style>{STYLE}{style}</style><main>{body}</main>", head)


def text(value: str) -> str:
    """Anybody's text as HTML that shows it and does nothing."""
    return escape(visible(value))


def badge(state: str) -> str:
    """The state of a test or task, in a word with a colour."""
    return f'<span class="{STATE_CLASSES[state]}">{state}</span>'
