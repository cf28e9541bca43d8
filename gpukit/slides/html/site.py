"""What is built and how its pages hang together: decks in order, labs, and who links to whom.

This is read from the sources, not from what they give: it is there before any deck is built.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpukit.course import LABS, is_lab
from gpukit.slides import source
from gpukit.slides.errors import SlidesError
from gpukit.slides.model import LIVE, page_of_lab

SLIDES = "slides"
BUILD = "build"
INDEX = "index.html"
DECK = re.compile(r"\d\d_[a-z0-9_]+")
_LAB = re.compile(r'lab:\s*(?P<lab>\w+)(?:\s+task="(?P<task>[\d.]+)")?')
_LAB_HEADING = re.compile(r"# (?:Lab \d+: )?(?P<title>.+)")


@dataclass(frozen=True)
class Entry:
    """A deck as the index shows it. labs: (lab, task or "", number of the slide) of each link to a lab."""

    name: str
    title: str
    description: str
    slides: int
    minutes: float
    lab: str
    labs: tuple[tuple[str, str, int], ...]

    @property
    def page(self) -> str:
        return f"{self.name}.html"


@dataclass(frozen=True)
class LabEntry:
    """A lab as the index shows it."""

    name: str
    title: str
    path: Path

    @property
    def number(self) -> int:
        return int(self.name[:2])

    @property
    def page(self) -> str:
        return page_of_lab(self.name)


@dataclass(frozen=True)
class Link:
    address: str
    text: str


LIVE_CELLS = Link(LIVE, "Live cells")


@dataclass(frozen=True)
class Neighbours:
    """Where a page leads to, besides the index."""

    before: Link | None = None
    after: Link | None = None
    others: tuple[Link, ...] = ()


def _around(links: Sequence[Link], here: int, others: tuple[Link, ...] = ()) -> Neighbours:
    """The links before and after one of a row."""
    before, after = links[here - 1] if here else None, links[here + 1] if here + 1 < len(links) else None
    return Neighbours(before, after, others)


@dataclass(frozen=True)
class Site:
    """Everything there is."""

    root: Path
    decks: tuple[Entry, ...]
    labs: tuple[LabEntry, ...]

    def deck_neighbours(self, name: str) -> Neighbours:
        """The decks before and after one, and its lab."""
        names = [deck.name for deck in self.decks]
        here = names.index(name)
        links = [Link(deck.page, deck.title) for deck in self.decks]
        lab = self.lab(self.decks[here].lab)
        return _around(links, here, (Link(lab.page, f"Lab {lab.number}"),) if lab else ())

    def lab_neighbours(self, name: str) -> Neighbours:
        names = [lab.name for lab in self.labs]
        here = names.index(name)
        links = [Link(lab.page, f"Lab {lab.number}: {lab.title}") for lab in self.labs]
        return _around(links, here)

    def lab(self, name: str) -> LabEntry | None:
        return next((lab for lab in self.labs if lab.name == name), None)


def find_root(start: Path | None = None) -> Path:
    """The folder that holds `slides/` with decks, here or above. Raises SlidesError where there is none."""
    start = (start or Path.cwd()).absolute()
    for folder in (start, *start.parents):
        if deck_files(folder):
            return folder
    raise SlidesError(
        f"there are no slides in {start} or above it: decks are in slides/ of gpukit's repository, which a students' "
        "tree has not; go there"
    )


def deck_files(root: Path) -> list[Path]:
    """The decks of a repository, in order."""
    return sorted(path for path in (root / SLIDES).glob("*.md") if DECK.fullmatch(path.stem))


def read(root: Path) -> Site:
    """The decks and labs of a repository. Raises SlidesError for a deck whose front matter cannot be read."""
    return Site(root, tuple(_entry(path, root) for path in deck_files(root)), tuple(_labs(root)))


def chosen(root: Path, names: Sequence[str]) -> list[Path]:
    """The files of the decks with these names, "04", "4", "coalescing", "04_coalescing" or a path; all without any."""
    from gpukit.registry import nearest

    files = deck_files(root)
    found = []
    for name in names:
        wanted = Path(name).stem
        fits = [
            path
            for path in files
            if wanted in (path.stem, path.stem[3:], path.stem[:2])
            or (wanted.isdecimal() and int(wanted) == int(path.stem[:2]))
        ]
        if not fits:
            known = [path.stem for path in files]
            raise SlidesError(f"there is no deck {name!r}{nearest(wanted, known)}; choose one of: {', '.join(known)}")
        found += fits
    return sorted(set(found)) or files


def _entry(path: Path, root: Path) -> Entry:
    deck = source.read(path, root)
    minutes, labs = 0.0, []
    for number, slide in enumerate(deck.slides, 1):
        for comment in source.comments(slide, deck.shown):
            if notes := source.NOTES.fullmatch(comment.text):
                minutes += float(notes["minutes"])
            labs += [(found["lab"], found["task"] or "", number) for found in _LAB.finditer(comment.text)]
    meta = deck.meta
    return Entry(
        deck.name,
        meta["title"],
        meta.get("description", ""),
        len(deck.slides),
        minutes,
        meta.get("lab", ""),
        tuple(labs),
    )


def _labs(root: Path) -> list[LabEntry]:
    found = []
    for path in sorted((root / LABS).glob("*")):
        readme = path / "README.md"
        if is_lab(path) and readme.is_file():
            heading = _LAB_HEADING.match(readme.read_text(encoding="utf-8").lstrip())
            found.append(LabEntry(path.name, heading["title"] if heading else path.name, readme))
    return found
