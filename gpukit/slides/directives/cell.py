"""`cell`: a link to a live cell, where the reader changes a kernel and runs it."""

from __future__ import annotations

from gpukit.registry import nearest
from gpukit.slides.directives import Directive, Page
from gpukit.slides.model import LIVE

CELLS = "slides/lab/cells"


def expand(it: Directive, page: Page) -> str:
    """A Markdown link."""
    it.allow()
    known = [path.stem for path in sorted((page.root / CELLS).glob("*.py"))]
    if it.target not in known:
        raise it.error(f"there is no live cell {it.target} in {CELLS}{nearest(it.target, known)}")
    page.cells.append(it.target)
    return f"[Run it in the browser]({LIVE}#{it.target})"
