"""`covers`: which rows of slides/curriculum.toml a slide teaches. A check looks for their words on it."""

from __future__ import annotations

from gpukit.slides.directives import Directive, Page


def expand(it: Directive, page: Page) -> str:
    """Nothing: it is for the check."""
    it.allow()
    page.covers += it.target.split()
    return ""
