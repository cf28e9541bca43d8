"""The live page as one file: cells, what they give (for browsers that cannot run them), and all that runs them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from string import Template

from gpukit.files import write_whole
from gpukit.slides.html.page import EARLY, colours
from gpukit.slides.html.site import LIVE
from gpukit.slides.live import cells, running, runtime, sources
from gpukit.slides.live.cells import Cell, Link
from gpukit.slides.live.runtime import Runtime

PARTS = Path(__file__).parent
# The browser loads nothing and sends nothing, whatever a learner's program tries. Python's parts are made in the page.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "script-src 'unsafe-inline'"
)
POLICY_OF_PYTHON = f"{POLICY} 'unsafe-eval' 'wasm-unsafe-eval' blob:; worker-src blob:"
# What stands at the top: nothing, as long as the browser can run Python.
NOTE = '<p class="note" id="static" hidden></p>'
NOTE_WITHOUT_PYTHON = (
    '<p class="note" id="static">This page was built without Python, so nothing runs here; below each cell stands what '
    "it gave when the page was built. To have cells that run, build the page with Python inside: "
    "<code>gpukit slides lab --pyodide FOLDER</code> (slides/README.md says what the folder holds).</p>"
)


def build(root: Path, pyodide: Path | None, out: Path) -> Path:
    """Write lab.html to the folder `out`; returns its path.

    root: the repository's root. pyodide: the folder with Pyodide's files and NumPy's wheel; None: a page that shows
    what each cell gives and runs none.

    Raises:
        SlidesError: a file of Pyodide, a cell or a kernel that it names is missing or wrong.
        GpukitError: `out` cannot be written.
    """
    made = runtime.read(pyodide) if pyodide else None
    path = out / LIVE
    write_whole(path, page(cells.read_all(root), made), parents=True)
    return path


def page(all_cells: Sequence[Cell], made: Runtime | None) -> str:
    """The page's HTML, with Python and gpukit's machine inside if there is a runtime."""
    python = {"lock": made.lock, "wheel": made.wheel} if made else None
    settings = {
        "python": python,
        "cells": [{"name": cell.name, "file": cell.file, "source": cell.source} for cell in all_cells],
        "expected": {cell.name: running.run(cell.source, cell.file) for cell in all_cells},
    }
    # The parts are put in, not read as templates: JavaScript has dollars of its own.
    return Template(_part("page.html")).substitute(
        policy=POLICY_OF_PYTHON if made else POLICY,
        early=EARLY,
        style=_colours() + _part("page.css"),
        script=_part("page.js"),
        links="\n".join(
            f'<li><a href="#{cell.name}">{cell.number}. {_text(cell.title.partition(":")[0])}</a></li>'
            for cell in all_cells
        ),
        note=NOTE if made else NOTE_WITHOUT_PYTHON,
        cells="\n".join(map(_cell, all_cells)),
        settings=_json(settings),
        assets="\n".join(_asset(name, data) for name, data in _assets(made).items()) if made else "",
    )


def has_python(file: Path) -> bool:
    """Whether there is a page in which cells run."""
    return file.is_file() and 'id="asset-wasm"' in file.read_text(encoding="utf-8", errors="replace")


def _assets(made: Runtime) -> dict[str, bytes]:
    return {
        "wasm": made.wasm,
        "engine": f"{made.asm}\n;{made.loader}\n;{_part('worker.js')}".encode(),
        "stdlib": made.stdlib,
        "numpy": made.numpy,
        "sources": runtime.stored(sources.files()),
    }


def _colours() -> str:
    """The decks' colours. Browsers that do not know light-dark() get the light ones."""
    found = colours("base.css")
    light = "".join(f"{name}:{one};" for name, one, _ in found)
    both = "".join(f"{name}:light-dark({one},{two});" for name, one, two in found)
    return f":root{{{light}}}\n@supports (color:light-dark(#000,#fff)){{:root{{{both}}}}}\n"


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def _asset(name: str, data: bytes) -> str:
    text = base64.b64encode(runtime.compressed(data)).decode("ascii")
    return f'<script type="text/plain" id="asset-{name}">{text}</script>'


def _json(value: object) -> str:
    """JSON that may stand in a script element."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True).replace("<", "\\u003c")


def _text(text: str) -> str:
    """Escaped, with `code` marked."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _link(link: Link) -> str:
    return f'<a href="{html.escape(link.href)}">{html.escape(link.text)}</a>'


def _cell(cell: Cell) -> str:
    """A cell as it stands before anything has run; page.js takes it from there."""
    name, rows = cell.name, cell.source.count("\n") + 1
    tries = "".join(f"<li>{_text(one)}</li>" for one in cell.tries)
    back = f"Slides: {', '.join(map(_link, cell.decks))}. " if cell.decks else ""
    return f"""<section class="cell" id="{name}" aria-labelledby="{name}-title">
<h2 id="{name}-title">{cell.number}. {_text(cell.title)}</h2>
{"".join(f"<p>{_text(paragraph)}</p>" for paragraph in cell.paragraphs)}
<div class="editor">
<div class="bar"><label for="{name}-code">{cell.file}</label>
<p class="state" role="status"></p><span class="buttons">
<button type="button" class="run" title="Ctrl+Enter in the editor">Run</button>
<button type="button" class="stop" disabled>Stop</button><button type="button" class="reset">Reset</button></span></div>
<div class="code"><pre class="numbers" aria-hidden="true"></pre><div class="text">
<pre class="colours" aria-hidden="true"></pre><textarea id="{name}-code" rows="{rows}" wrap="off" spellcheck="false"
 autocapitalize="off" autocomplete="off" aria-describedby="keys">{html.escape(cell.source)}</textarea></div></div>
</div>
<h3>Try</h3>
<ul class="tries">{tries}</ul>
<p class="onward">{back}Lab: {_link(cell.lab)}</p>
<div class="results" hidden></div>
</section>"""
