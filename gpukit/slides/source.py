"""A deck's file as it was written: front matter, slides, and the comments in them with their lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpukit.slides.errors import SlidesError

_KEY = re.compile(r"([a-z_]+):[ \t]*(.*)")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})(.*)")
# Code comes first: a comment in it is shown, not carried out.
_COMMENT = re.compile(
    r"(?P<code>^[ ]{0,3}(?P<fence>`{3,}|~{3,}).*?^[ ]{0,3}(?P=fence)[`~]*[ \t]*$"
    r"|(?P<tick>`+)(?!`).+?(?<!`)(?P=tick)(?!`))"
    r"|<!--(?P<comment>.*?)-->",
    re.DOTALL | re.MULTILINE,
)
# Notes of a slide, the comment that is no directive: `2 min. Say it.`
NOTES = re.compile(r"(?P<minutes>\d+(?:\.5)?) min\.\s*(?P<text>.*)", re.DOTALL)
_UNCLOSED = re.compile(r"<!--(?:(?!-->).)*\Z", re.DOTALL)


@dataclass(frozen=True)
class SlideSource:
    """One slide's text, and the line of the file that it begins at."""

    text: str
    line: int


@dataclass(frozen=True)
class DeckSource:
    """A deck's file: `shown` is its path as messages name it."""

    path: Path
    shown: str
    meta: dict[str, str]
    slides: tuple[SlideSource, ...]

    @property
    def name(self) -> str:
        return self.path.stem


@dataclass(frozen=True)
class Comment:
    """What stands between <!-- and -->, and the line of the file that it begins at."""

    text: str
    line: int


def read(path: Path, root: Path) -> DeckSource:
    """Read a deck's file. Raises SlidesError when it cannot be read, or has no front matter with a title."""
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SlidesError(f"this deck cannot be read: {reason}", file=shown) from None
    return parse(text, path, shown)


def parse(text: str, path: Path, shown: str) -> DeckSource:
    """The text of a deck as front matter and slides. Raises SlidesError."""
    lines = text.splitlines()
    meta, start = _front_matter(lines, shown)
    slides, begin, open_fence, in_comment = [], start, "", False
    for number, line in enumerate(lines[start:], start):
        fence = _FENCE.fullmatch(line)
        if in_comment or (not open_fence and "<!--" in line):
            in_comment = "-->" not in line.rpartition("<!--")[2]
        elif open_fence:
            closes = fence and fence[1].startswith(open_fence) and not fence[2].strip()
            open_fence = "" if closes else open_fence
        elif fence:
            open_fence = fence[1]
        elif line.rstrip() == "---" and (number == 0 or not lines[number - 1].strip()):
            slides.append(_slide(lines, begin, number))
            begin = number + 1
    slides.append(_slide(lines, begin, len(lines)))
    return DeckSource(path, shown, meta, tuple(slides))


def _front_matter(lines: list[str], shown: str) -> tuple[dict[str, str], int]:
    """Keys and values of the front matter, and the index of the line behind it."""
    if not lines or lines[0].rstrip() != "---":
        raise SlidesError("a deck begins with front matter: --- on the first line, then marp: true", file=shown, line=1)
    meta: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() == "---":
            if meta.get("marp") != "true" or not meta.get("title"):
                raise SlidesError("the front matter needs `marp: true` and a `title:`", file=shown, line=1)
            return meta, number
        found = _KEY.fullmatch(line.rstrip())
        if found is None:
            raise SlidesError(f"the front matter holds lines of `key: value`, not {line!r}", file=shown, line=number)
        meta[found[1]] = found[2].strip("\"'")
    raise SlidesError("the front matter does not end: put --- behind it", file=shown, line=1)


def _slide(lines: list[str], begin: int, end: int) -> SlideSource:
    while begin < end and not lines[begin].strip():
        begin += 1
    return SlideSource("\n".join(lines[begin:end]).rstrip(), begin + 1)


def comments(slide: SlideSource, shown: str) -> list[Comment]:
    """The comments of a slide that do not stand in code. Raises SlidesError for one that does not end."""
    found: list[Comment] = []

    def keep(comment: Comment) -> str:
        found.append(comment)
        return ""

    replace(slide, shown, keep)
    return found


def replace(slide: SlideSource, shown: str, by: Callable[[Comment], str]) -> str:
    """The slide's text with each comment replaced by what `by` makes of it. Raises SlidesError."""

    def one(match: re.Match[str]) -> str:
        if match["comment"] is None:
            return match[0]
        return by(Comment(match["comment"].strip(), slide.line + slide.text.count("\n", 0, match.start())))

    text = _COMMENT.sub(one, slide.text)
    unclosed = _UNCLOSED.search(_COMMENT.sub("", slide.text))
    if unclosed:
        line = slide.line + slide.text.count("\n", 0, slide.text.rfind("<!--"))
        raise SlidesError("a comment begins here and does not end: put --> behind it", file=shown, line=line)
    return text


def fences(slide: SlideSource) -> list[tuple[int, int, str]]:
    """Typed code: of each fence the line of the file it begins at, how many lines of code it has, and its language."""
    found = []
    for match in _COMMENT.finditer(slide.text):
        if match["fence"]:
            lines = match["code"].splitlines()
            line = slide.line + slide.text.count("\n", 0, match.start())
            found.append((line, len(lines) - 2, lines[0].strip().lstrip("`~").strip()))
    return found


def without_comments(slide: SlideSource) -> str:
    """The slide's text with as many lines as it has in the file, nothing in those that are comments."""
    return _COMMENT.sub(
        lambda match: match[0] if match["comment"] is None else "\n" * match[0].count("\n"),
        slide.text,
    )


def without_code(text: str) -> str:
    """Markdown without its fences and code spans, for who looks for words of its own."""
    return _COMMENT.sub(lambda match: match[0] if match["comment"] is not None else "", text)
