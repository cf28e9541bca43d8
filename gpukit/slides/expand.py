"""A deck's file -> a `Deck`: directives carried out, so that what is left is plain Marp Markdown."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path

from gpukit.registry import nearest
from gpukit.slides import directives, recordings, source
from gpukit.slides.directives import Page, directive
from gpukit.slides.errors import SlidesError
from gpukit.slides.model import COLUMNS, KINDS, LARGE, Asset, Deck, Slide
from gpukit.slides.source import Comment, DeckSource, SlideSource

DIRECTIVES = tuple(module.name for module in pkgutil.iter_modules(directives.__path__))
_NAMED = re.compile(r"(?P<name>_?[A-Za-z]+):(?:\s|$)")
_HEADING = re.compile(r"^(#{1,2}) (.+?)\s*#*$", re.MULTILINE)
_ANSWER = re.compile(r"\bAnswer: (?P<text>.+?)(?:\n[ \t]*\n|\Z)", re.DOTALL)

Run = Callable[[list[str]], str]


def read(path: Path, root: Path, run: Run) -> Deck:
    """The deck of a file. See `expand`."""
    return expand(source.read(path, root), root, run)


def expand(deck: DeckSource, root: Path, run: Run) -> Deck:
    """Carry out a deck's directives.

    Args:
        deck: as `source.read` gives it.
        root: the repository's root, which paths in the deck start from.
        run: carries out a command of gpukit, given its words, and returns what it prints.

    Raises:
        SlidesError: the deck is not as it should be, or something that it shows is not there, or fails.
    """
    results = _results(deck)
    assets: dict[str, Asset] = {}
    slides = []
    for number, slide in enumerate(deck.slides, 1):
        page = Page(root, deck.name, results, run, assets)
        slides.append(_Slide(deck, slide, page).made(number))
    return Deck(deck.path, deck.name, deck.meta, tuple(slides), assets)


def _results(deck: DeckSource) -> dict[str, str]:
    """Short names of recordings, from the front matter."""
    found = {}
    for pair in deck.meta.get("results", "").split():
        name, equals, path = pair.partition("=")
        if not equals:
            raise SlidesError(f"results: write name=data/results/FILE.json, not {pair!r}", file=deck.shown, line=1)
        found[name] = path
    return found


class _Slide:
    """One slide while it is made."""

    def __init__(self, deck: DeckSource, slide: SlideSource, page: Page):
        self.deck, self.slide, self.page = deck, slide, page
        self.classes: tuple[str, ...] = ()
        self.minutes, self.notes = -1.0, ""

    def made(self, number: int) -> Slide:
        body = source.replace(self.slide, self.deck.shown, self._replaced)
        body = re.sub(r"\n{3,}", "\n\n", body).strip()
        headings = _HEADING.findall(source.without_code(body))
        if len(headings) != 1:
            raise self._error(f"slide {number} has {len(headings)} headings: give it one, which says what it shows")
        if not self.classes:
            raise self._error(f"slide {number} does not say what it is: <!-- _class: {' | '.join(KINDS)} -->")
        if self.minutes < 0:
            raise self._error(
                f"slide {number} has no notes: a comment that begins with how many minutes it takes, `2 min.`"
            )
        head = [f"<!-- _class: {' '.join(self.classes)} -->"]
        if self.page.sources:
            head.append(f"<!-- _footer: {recordings.footer(self.page.sources)!r} -->")
        notes = f"<!--\n{self.minutes:g} min. {self.notes}\n-->"
        answer = _ANSWER.search(self.notes)
        return Slide(
            number=number,
            line=self.slide.line,
            classes=self.classes,
            heading=headings[0][1],
            markdown="\n\n".join(["\n".join(head), body, notes]),
            notes=self.notes,
            minutes=self.minutes,
            answer=" ".join(answer["text"].split()) if answer else "",
            covers=tuple(self.page.covers),
            sources=tuple(recordings.footer([one]) for one in self.page.sources),
            cells=tuple(self.page.cells),
            labs=tuple(self.page.labs),
        )

    def _replaced(self, comment: Comment) -> str:
        named = _NAMED.match(comment.text)
        if named and named["name"] in DIRECTIVES:
            return self._carried_out(named["name"], comment)
        if named and named["name"] == "_class":
            return self._class(comment)
        notes = source.NOTES.fullmatch(comment.text)
        if notes is None:
            name = named["name"] if named else ""
            hint = nearest(name, [*DIRECTIVES, "_class"]) if name else ""
            raise self._error(
                f"this comment is neither a directive nor notes, which begin with minutes (`2 min.`){hint}",
                comment.line,
            )
        if self.minutes >= 0:
            raise self._error("this slide has notes already: put all of them into one comment", comment.line)
        self.minutes = float(notes["minutes"])
        # Notes hold numbers, too; their directives are written in double braces, since comments do not nest.
        self.notes = self._noted(notes["text"].strip(), comment)
        return ""

    def _noted(self, text: str, comment: Comment) -> str:
        return re.sub(
            r"\{\{\s*((?:number|lab|cell):.*?)\s*\}\}",
            lambda found: self._carried_out(found[1].partition(":")[0], Comment(found[1], comment.line)),
            text,
            flags=re.DOTALL,
        )

    def _carried_out(self, name: str, comment: Comment) -> str:
        it = directive(comment.text, name, self.deck.shown, comment.line)
        module = importlib.import_module(f"gpukit.slides.directives.{name}")
        try:
            return module.expand(it, self.page)
        except SlidesError as error:
            # What knows nothing of the deck cannot name the place; it is named here.
            raise error if error.file == self.deck.shown else it.error(error.message) from error

    def _class(self, comment: Comment) -> str:
        classes = tuple(comment.text.removeprefix("_class:").split())
        if not classes or classes[0] not in KINDS or set(classes[1:]) - {COLUMNS, LARGE}:
            raise self._error(
                f"_class: {' '.join(classes)} is no kind of slide: write one of {', '.join(KINDS)}, "
                f"and behind it {COLUMNS} for two columns, {LARGE} for larger letters",
                comment.line,
            )
        self.classes = classes
        return ""

    def _error(self, message: str, line: int = 0) -> SlidesError:
        return SlidesError(message, file=self.deck.shown, line=line or self.slide.line)
