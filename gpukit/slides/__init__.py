"""Slides that cannot go stale: Marp Markdown whose code, figures and numbers are taken from where they are true.

    source.py       a deck's file as slides, comments and lines
    directives/     what a comment such as `<!-- code: path::function -->` is replaced by, one module each
    expand.py       a deck's file -> a `Deck`: plain Marp Markdown, and the pictures that it shows
    html/           a deck -> one self-contained page
    checks/         what must hold for every deck

The decks lie in `slides/`; slides/README.md says how one is written.
"""

from gpukit.slides.recordings import gpu, recording
from gpukit.slides.values import Table

__all__ = ["Table", "gpu", "recording"]
