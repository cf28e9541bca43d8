"""The live page as one file: cells, what they give (for browsers that cannot run them), and all that runs them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from string import Template

from gpukit.slides.errors import SlidesError
from gpukit.slides.html.page import EARLY, colours
from gpukit.slides.html.site import LIVE
from gpukit.slides.live import cells, running, runtime, sources
from gpukit.slides.live.cells import Cell, Link
from gpukit.slides.live.runtime import Runtime

PARTS = Path(__file__).parent
# The browser loads nothing and sends nothing, whatever a learner's program tries. Python's parts are made in the page.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "script-src 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob:; worker-src blob:"
)


def build(root: Path, pyodide: Path, out: Path) -> Path:
    """Write lab.html to the folder `out`; returns its path.

    root: the repository's root. pyodide: the folder with Pyodide's files and NumPy's wheel.

    Raises:
        SlidesError: a file of Pyodide, a cell or a kernel that it names is missing or wrong; `out` cannot be written.
    """
    text = page(cells.read_all(root), runtime.read(pyodide), sources.files())
    path = out / LIVE
    try:
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise SlidesError(f"{path} cannot be written: {error.strerror}") from None
    return path


def page(all_cells: Sequence[Cell], made: Runtime, files: dict[str, bytes]) -> str:
    """The page's HTML."""
    assets = {
        "wasm": made.wasm,
        "engine": f"{made.asm}\n;{made.loader}\n;{_part('worker.js')}".encode(),
        "stdlib": made.stdlib,
        "numpy": made.numpy,
        "sources": runtime.stored(files),
    }
    settings = {
        "lock": made.lock,
        "wheel": made.wheel,
        "version": made.version,
        "cells": [{"name": cell.name, "file": cell.file, "source": cell.source} for cell in all_cells],
        "expected": {cell.name: running.run(cell.source, cell.file) for cell in all_cells},
    }
    # The parts are put in, not read as templates: JavaScript has dollars of its own.
    return Template(_part("page.html")).substitute(
        policy=POLICY,
        early=EARLY,
        style=_colours() + _part("page.css"),
        script=_part("page.js"),
        links="\n".join(
            f'<li><a href="#{cell.name}">{cell.number}. {_text(cell.title.partition(":")[0])}</a></li>'
            for cell in all_cells
        ),
        cells="\n".join(map(_cell, all_cells)),
        settings=_json(settings),
        assets="\n".join(_asset(name, data) for name, data in assets.items()),
    )


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
