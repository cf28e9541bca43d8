"""`stepper`: a recorded trace of the machine that the page plays step by step, and a still of it for print."""

from __future__ import annotations

from gpukit.slides.directives import Directive, Page
from gpukit.slides.directives.fig import add, alt_of, on_slide
from gpukit.slides.model import Asset
from gpukit.slides.stepper import Stepper


def expand(it: Directive, page: Page) -> str:
    """A Markdown image of the still; the page plays the data that lies beside it in the deck's assets."""
    it.allow("alt", "height")
    alt = alt_of(it)
    with on_slide(it):
        made = page.call(it.target)
        if not isinstance(made, Stepper):
            raise it.error(f"{it.target} gives a {type(made).__name__}: return a gpukit.slides.stepper.Stepper")
        still = made.still()
    return add(page, it, Asset(still, alt, made.to_dict()), 1.0)
