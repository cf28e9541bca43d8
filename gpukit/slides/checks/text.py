"""What stands in a slide's Markdown, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from gpukit.slides.model import Slide

_MARKDOWN = MarkdownIt("commonmark").enable("table")


@lru_cache(maxsize=1024)
def parse(markdown: str) -> tuple[Token, ...]:
    """Tokens of Markdown, those inside of lines among them."""
    return tuple(inner for token in _MARKDOWN.parse(markdown) for inner in (token, *(token.children or ())))


def headings(slide: Slide) -> list[tuple[int, str]]:
    """Level and words of each heading."""
    tokens = parse(slide.markdown)
    return [
        (int(token.tag[1]), plain(tokens[place + 1]))
        for place, token in enumerate(tokens)
        if token.type == "heading_open"
    ]


def plain(inline: Token) -> str:
    """The words of a line, without marks."""
    return "".join(child.content for child in inline.children or () if child.type in ("text", "code_inline"))


def fences(slide: Slide) -> list[tuple[str, list[str]]]:
    """Info string and lines of each fence."""
    return [(token.info, token.content.splitlines()) for token in parse(slide.markdown) if token.type == "fence"]


def images(slide: Slide) -> list[tuple[str, str]]:
    """Address and alt of each image; what only tells Marp its size ("w:592") is no alt."""
    found = []
    for token in parse(slide.markdown):
        if token.type == "image":
            words = [word for word in token.content.split() if not word.startswith(("w:", "h:"))]
            found.append((str(token.attrs["src"]), " ".join(words)))
    return found


def links(slide: Slide) -> list[str]:
    """Addresses of all links, in the notes, too."""
    tokens = (*parse(slide.markdown), *parse(slide.notes))
    return [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]


def code_spans(slide: Slide) -> Iterator[str]:
    """What stands in backticks, in the notes, too."""
    for token in (*parse(slide.markdown), *parse(slide.notes)):
        if token.type == "code_inline":
            yield " ".join(token.content.split())


def prose(slide: Slide) -> str:
    """The words of a slide and its notes, without code."""
    return "\n".join(token.content for token in (*parse(slide.markdown), *parse(slide.notes)) if token.type == "text")
