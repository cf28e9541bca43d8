"""Built pages as files: nothing fetched, alts, links that lead somewhere, ids that are there once, the same bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gpukit.slides.checks.finding import Finding

LOADED = {  # tag -> attributes whose address a browser fetches without being asked
    **dict.fromkeys(("script", "iframe", "embed", "audio", "track", "input"), ("src",)),
    **dict.fromkeys(("img", "source"), ("src", "srcset")),
    **dict.fromkeys(("image", "use", "feimage"), ("href", "xlink:href")),
    "video": ("src", "poster"),
    "link": ("href",),
    "base": ("href",),
    "object": ("data",),
    "form": ("action",),
}
INSIDE = ("data:", "blob:", "#", "about:")
# Written with letters or with CSS's escapes of them it is the same to a browser; nobody hides anything here.
STYLE = re.compile(r"@import\s+[\"']?(?P<sheet>[^\s;\"']+)|url\(\s*[\"']?(?P<url>[^)\"']*)", re.IGNORECASE)
SCRIPT = re.compile(r"\b(?:fetch|importScripts|import)\s*\(\s*[\"'`](?P<url>(?:https?:)?//[^\"'`]+)")


@dataclass
class Page(HTMLParser):
    """What the checks need of a page: `fetched`, `images`, `links` with their lines, `ids` with how often."""

    file: Path
    fetched: list[tuple[int, str]] = field(default_factory=list)
    without_alt: list[tuple[int, str]] = field(default_factory=list)
    links: list[tuple[int, str]] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._inside = ""
        self.feed(self.file.read_text(encoding="utf-8"))
        self.close()

    __hash__ = object.__hash__

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        line, values = self.getpos()[0], {name: value or "" for name, value in attrs}
        self._inside = tag if tag in ("style", "script") else ""
        for name in LOADED.get(tag, ()):
            if values.get(name, "").strip():
                self._fetch(line, values[name])
        if "style" in values:
            self._style(line, values["style"])
        if tag == "img" and not values.get("alt"):
            self.without_alt.append((line, tag))
        if (
            tag == "svg"
            and values.get("role") == "img"
            and not (values.get("aria-label") or "aria-labelledby" in values)
        ):
            self.without_alt.append((line, tag))
        if tag == "a" and "href" in values:
            self.links.append((line, values["href"]))
        if values.get("id"):
            self.ids[values["id"]] = self.ids.get(values["id"], 0) + 1

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        line = self.getpos()[0]
        if self._inside == "style":
            self._style(line, data)
        elif self._inside == "script":
            for found in SCRIPT.finditer(data):
                self.fetched.append((line, found["url"]))

    def _style(self, line: int, css: str) -> None:
        for found in STYLE.finditer(css):
            self._fetch(line + css.count("\n", 0, found.start()), found["sheet"] or found["url"] or "")

    def _fetch(self, line: int, address: str) -> None:
        if address and not address.strip().startswith(INSIDE):
            self.fetched.append((line, address.strip()))


def check(folder: Path, names: Collection[str] = (), elsewhere: Collection[str] = ()) -> Iterator[Finding]:
    """All that this module looks for in the pages of a folder.

    names: only in these pages, if any are named. elsewhere: pages that links may lead to and that are not built here.
    """
    pages = {path.name: Page(path) for path in sorted(folder.glob("*.html"))}
    if not pages:
        yield Finding(folder, 0, "there is no page here: build the slides first")
    for page in pages.values():
        if not names or page.file.name in names:
            for look in (fetched, alts, ids):
                yield from look(page)
            yield from links(page, pages, elsewhere)


def fetched(page: Page) -> Iterator[Finding]:
    """A page is one file: whatever it loads lies in it."""
    for line, address in page.fetched:
        yield Finding(page.file, line, f"this page loads {address[:80]}; what it shows must lie in it")


def alts(page: Page) -> Iterator[Finding]:
    for line, tag in page.without_alt:
        yield Finding(page.file, line, f"this <{tag}> says nothing to those who do not see it: give it an alt")


def ids(page: Page) -> Iterator[Finding]:
    for name, times in page.ids.items():
        if times > 1:
            yield Finding(page.file, 0, f"the id {name} is there {times} times; links and figures find only the first")


def links(page: Page, pages: Mapping[str, Page], elsewhere: Collection[str] = ()) -> Iterator[Finding]:
    """Links to other pages of the folder, and to places in them."""
    for line, address in page.links:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        name = unquote(parts.path) or page.file.name
        if name in elsewhere and name not in pages:
            continue
        other = pages.get(name)
        if other is None and not (page.file.parent / name).exists():
            yield Finding(page.file, line, f"this links to {address}, and there is no {name} beside it")
        elif other is not None and parts.fragment and not _has_place(other, unquote(parts.fragment)):
            yield Finding(page.file, line, f"this links to {address}, and {name} has no place of that name")


def _has_place(page: Page, fragment: str) -> bool:
    # A number is a slide, which the page's own script finds.
    return fragment in page.ids or fragment.isdigit() or fragment == "top"


def differences(first: Path, second: Path, but: Collection[str] = ()) -> Iterator[Finding]:
    """Files that two builds of the same sources do not have alike, byte for byte; `but` those of these names."""
    names = sorted({p.relative_to(folder) for folder in (first, second) for p in folder.rglob("*") if p.is_file()})
    for name in names:
        if name.name in but:
            continue
        a, b = first / name, second / name
        if not a.is_file() or not b.is_file():
            lacking = second if a.is_file() else first
            yield Finding(first / name, 0, f"one build of two has this file; {lacking} has not")
        elif (left := a.read_bytes()) != (right := b.read_bytes()):
            at = next(
                (i for i, (x, y) in enumerate(zip(left, right, strict=False)) if x != y), min(len(left), len(right))
            )
            line = left.count(b"\n", 0, at) + 1
            sentence = f"another build wrote other bytes here: {left[at : at + 30]!r} and {right[at : at + 30]!r}"
            yield Finding(first / name, line, sentence)
