"""What was typed into a deck and would go stale there: code, and figures that somebody measured."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpukit.slides import source
from gpukit.slides.checks.finding import Finding
from gpukit.slides.source import DeckSource

LINES = 3  # of code that may be typed
# Seconds are not among the units: "80 s + 20 s" is an exercise, and nobody times a kernel in them.
UNIT = r"(?:[kMGT]i?B/s|bytes/s|ms|[uµμ]s|microseconds|milliseconds|ns|samples/s|[kMGTP]?FLOPS|[kMGTP]?FLOP/s)"
FIGURE = re.compile(rf"\d[\d,.]*[ \u00a0\u202f]?(?:\\,|~)?{UNIT}(?![\w/])")


def check(decks: Sequence[DeckSource]) -> Iterator[Finding]:
    """All that this module looks for, in the sources."""
    for deck in decks:
        yield from code(deck)
        yield from figures(deck)


def code(deck: DeckSource) -> Iterator[Finding]:
    for slide in deck.slides:
        for line, length, _ in source.fences(slide):
            if length > LINES:
                sentence = f"{length} lines of code are typed here, and would go stale: take them by `code` or `output`"
                yield Finding(deck.path, line, sentence)


def figures(deck: DeckSource) -> Iterator[Finding]:
    for slide in deck.slides:
        for number, line in enumerate(source.without_comments(slide).splitlines(), slide.line):
            for found in FIGURE.finditer(line):
                sentence = f"{found[0].strip()!r} is typed here, and would go stale: take it from data by `number`"
                yield Finding(deck.path, number, sentence)
