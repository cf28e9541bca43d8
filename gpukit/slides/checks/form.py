"""The form of a deck: how many slides of which kinds, headings, notes and minutes, alts, and lines that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpukit.slides.checks import text
from gpukit.slides.checks.finding import Finding, about, on
from gpukit.slides.model import Deck

FEWEST, MOST = 15, 25  # slides of a topic's deck
SHORTEST, LONGEST = 25, 75  # minutes of one
TOPIC_KINDS = ("question", "predict", "run", "picture", "why", "fix", "row", "exercise", "check")
ANSWERED = ("predict", "check")  # kinds whose notes hold an answer
HEADING = 60  # characters that fit a line of 40 px
CODE = 80  # characters that fit a line of 24 px


def check(decks: Sequence[Deck]) -> Iterator[Finding]:
    """All that this module looks for."""
    for deck in decks:
        for looks in (size, kinds, minutes, notes, answers, headings, headings_differ, alts, lines):
            yield from looks(deck)


def _is_guide(deck: Deck) -> bool:
    """A deck about the course as a whole, not about one topic."""
    return deck.meta.get("form") == "guide"


def size(deck: Deck) -> Iterator[Finding]:
    number = len(deck.slides)
    if number > MOST or (number < FEWEST and not _is_guide(deck)):
        yield about(deck, f"this deck has {number} slides; one has {FEWEST} to {MOST}")


def kinds(deck: Deck) -> Iterator[Finding]:
    there = [slide.kind for slide in deck.slides]
    if there[:1] != ["title"] or there.count("title") != 1:
        yield about(deck, "the first slide, and no other, is of the kind title")
    missing = [] if _is_guide(deck) else [kind for kind in TOPIC_KINDS if kind not in there]
    if missing:
        yield about(deck, f"this deck has no slide of the kind {', '.join(missing)}; a topic's deck has one of each")


def minutes(deck: Deck) -> Iterator[Finding]:
    if deck.minutes > LONGEST or (deck.minutes < SHORTEST and not _is_guide(deck)):
        yield about(deck, f"its notes add up to {deck.minutes:g} minutes; a deck takes {SHORTEST} to {LONGEST}")


def notes(deck: Deck) -> Iterator[Finding]:
    for slide in deck.slides:
        if not slide.notes.strip():
            yield on(deck, slide, "it has no notes: write what is said, behind the minutes it takes")
        if slide.minutes <= 0 or slide.minutes % 0.5:
            yield on(deck, slide, f"its notes say {slide.minutes:g} minutes; write half minutes, at least one of them")


def answers(deck: Deck) -> Iterator[Finding]:
    for slide in deck.slides:
        if slide.kind in ANSWERED and not slide.answer.strip():
            yield on(deck, slide, f"a slide of the kind {slide.kind} asks something: put `Answer: ...` into its notes")


def headings(deck: Deck) -> Iterator[Finding]:
    for slide in deck.slides:
        found = text.headings(slide)
        if len(found) != 1:
            yield on(deck, slide, f"it has {len(found)} headings; each slide has one")
        for level, words in found:
            wanted = 1 if slide.kind == "title" else 2
            if level != wanted:
                yield on(deck, slide, f"its heading is of level {level}; here it is {'#' * wanted}")
            if len(words) > HEADING:
                yield on(deck, slide, f"its heading has {len(words)} characters; a line holds {HEADING}")


def headings_differ(deck: Deck) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for slide in deck.slides:
        words = " ".join(slide.heading.lower().split())
        if words in first:
            yield on(deck, slide, f"slide {first[words]} has the same heading; say what is new here")
        first.setdefault(words, slide.number)


def alts(deck: Deck) -> Iterator[Finding]:
    for slide in deck.slides:
        for address, alt in text.images(slide):
            if not alt:
                yield on(deck, slide, f"{address} has no alt: say in a sentence what it shows")


def lines(deck: Deck) -> Iterator[Finding]:
    for slide in deck.slides:
        for _, code in text.fences(slide):
            for line in code:
                if len(line) > CODE:
                    yield on(deck, slide, f"a line of {len(line)} characters, and {CODE} fit: {line.strip()[:40]}...")
