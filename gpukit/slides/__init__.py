"""Slides that cannot go stale: Marp Markdown whose code, figures and numbers are taken from where they are true.

    source.py       a deck's file as slides, comments and lines
    directives/     what a comment such as `<!-- code: path::function -->` is replaced by, one module each
    expand.py       a deck's file -> a `Deck`: plain Marp Markdown, and the pictures that it shows
    html/           a deck -> one self-contained page
    checks/         what must hold for every deck

The decks lie in `slides/`; slides/README.md says how one is written.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpukit.slides.recordings import gpu, recording
    from gpukit.slides.values import Table

# Found on first use, since the command line looks into this package at every start, and these bring NumPy.
_HOMES = {"gpu": "recordings", "recording": "recordings", "Table": "values"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


__all__ = ["Table", "gpu", "recording"]
