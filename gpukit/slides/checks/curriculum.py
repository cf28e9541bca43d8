"""Rows of slides/curriculum.toml against the slides that say they teach them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpukit.registry import nearest
from gpukit.slides.checks.finding import Finding, on
from gpukit.slides.errors import SlidesError
from gpukit.slides.model import Deck, Slide

FILE = Path("slides") / "curriculum.toml"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
SHORT = 3  # letters of a word that must stand alone: "ad" is not found in "address"


@dataclass(frozen=True)
class Row:
    """One thing to teach. `says`: words that must be found; `line`: where it stands in the file."""

    id: str
    teaches: str
    deck: str
    says: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)


def read(file: Path) -> dict[str, Row]:
    """The rows by id. Raises SlidesError for a file that cannot be read, and a row that lacks something."""
    try:
        written = file.read_text(encoding="utf-8")
        data = tomllib.loads(written).get("rows", [])
    except (OSError, ValueError) as error:
        raise SlidesError(f"the curriculum cannot be read: {error}", file=str(file)) from None
    at = [number for number, line in enumerate(written.splitlines(), 1) if line.strip() == "[[rows]]"]
    rows: dict[str, Row] = {}
    for line, entry in zip(at, data, strict=True):
        missing = [key for key in ("id", "teaches", "deck", "says") if not entry.get(key)]
        if missing:
            raise SlidesError(f"a row has no {', '.join(missing)}", file=str(file), line=line)
        if entry["id"] in rows:
            raise SlidesError(f"there are two rows {entry['id']}: give each its own id", file=str(file), line=line)
        rows[entry["id"]] = Row(entry["id"], entry["teaches"], entry["deck"], tuple(entry["says"]), line)
    if not rows:
        raise SlidesError("the curriculum has no rows: write [[rows]] with id, teaches, deck and says", file=str(file))
    return rows


def check(
    decks: Sequence[Deck], rows: Mapping[str, Row], file: Path, elsewhere: Collection[str] = ()
) -> Iterator[Finding]:
    """Slides that cover what is no row, rows that no slide covers, and words that are not on those that do.

    elsewhere: rows that decks cover which are not looked at here; their words may be there.
    """
    yield from unknown(decks, rows)
    for row in rows.values():
        places = [(deck, slide) for deck in decks for slide in deck.slides if row.id in slide.covers]
        if row.id in elsewhere:
            continue
        if not places:
            yield Finding(file, row.line, f"no slide covers {row.id}, which {row.deck} is meant to: {row.teaches}")
        elif missing := [words for words in row.says if not says([slide for _, slide in places], words)]:
            where = ", ".join(f"{deck.name}.md:{slide.line}" for deck, slide in places)
            wanted = ", ".join(repr(words) for words in missing)
            yield Finding(file, row.line, f"{row.id} is covered at {where}, but {wanted} is not said there")


def unknown(decks: Sequence[Deck], rows: Mapping[str, Row]) -> Iterator[Finding]:
    for deck in decks:
        for slide in deck.slides:
            for name in slide.covers:
                if name not in rows:
                    sentence = f"it covers {name}, which is no row of {FILE.as_posix()}{nearest(name, rows)}"
                    yield on(deck, slide, sentence)


def says(slides: Sequence[Slide], words: str) -> bool:
    """Whether any of `words` ("one | other") stands on the slides or in their notes."""
    there = " \n ".join(_folded(_all_words(slide)) for slide in slides)
    return any(_pattern(one).search(there) for one in words.split(" | "))


def _all_words(slide: Slide) -> str:
    body = _COMMENT.sub("", slide.markdown)  # the minutes of the notes and the footer's date are no figures
    return "\n".join((body, slide.notes))


def _folded(text: str) -> str:
    """Without case, emphasis, code marks, backslashes and the kind of dash; white space as one space, none before %."""
    text = re.sub(r"[*`\\]|\{,\}", lambda mark: "," if mark[0] == "{,}" else "", text.lower())
    text = re.sub("[\u2010-\u2015\u2212]", "-", text)
    return re.sub(r"\s+%", "%", re.sub(r"\s+", " ", text)).replace("\u00d7", "x")


def _pattern(words: str) -> re.Pattern[str]:
    """Where the words stand as words: 8 is not found in 128 or 8.5, "ad" not in "made" or "address"."""
    wanted = _folded(words.strip())
    before = r"(?<!\d)(?<!\d[.,])" if wanted[:1].isdigit() else r"(?<!\w)" if wanted[:1].isalpha() else ""
    after = r"(?![.,]?\d)" if wanted[-1:].isdigit() else ""
    if wanted.isalpha() and len(wanted) <= SHORT:
        after = r"s?(?!\w)"
    return re.compile(before + re.escape(wanted).replace(r"\ ", " ") + after)
